"""JDP5: what must happen before what when a program starts."""
