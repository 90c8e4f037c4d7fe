"""Reports: findings as text. Each is a pure function; nothing here reads a file or writes one."""
