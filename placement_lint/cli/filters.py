"""What a walk goes by: settings, of which some may be wrong without ending the walk."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.config.load import SettingsLoader
    from placement_lint.config.settings import Settings


def filters_by(loader: SettingsLoader) -> Callable[[str], Settings]:
    """Return what tells the settings of a folder to `find_files`, by which it leaves out folders
    with wrong ones.
    """
    from placement_lint.config.values import SettingsError
    from placement_lint.files.discovery import FiltersError

    def settings_of(folder: str) -> Settings:
        try:
            return loader.for_folder(folder)
        except SettingsError as error:
            from placement_lint.cli.settings_errors import located

            message = f"not linted: {located(error)}"
            raise FiltersError(message) from error

    return settings_of
