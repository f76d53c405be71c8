"""What a run wrote into a directory: only that is ever overwritten or removed.

``elsv-files.json`` in the directory names the run and every file and folder that it made. A file is named
before it is written, so that a run that was killed leaves nothing behind that the next one does not know.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from elsv._base.files import unreadable, write_text
from elsv.errors import InvalidInputError

MANIFEST = "elsv-files.json"
_FORMAT, _VERSION = "elsv-files", 1
_SHOWN = 3

Choice = Callable[[str], bool]


def _every(name: str) -> bool:
    return True


@dataclass
class Outputs:
    """The files of one run in one directory; names are relative to it, with ``/`` between their parts."""

    directory: Path
    run: str  # the fingerprint of what is run; empty in a directory without a run
    files: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)  # that did not exist before

    @classmethod
    def read(cls, directory: str | Path) -> Outputs:
        """Return what is there of an earlier run; nothing if there was none."""
        place = Path(directory)
        if place.exists() and not place.is_dir():
            raise InvalidInputError(f"results go to a directory, got the file {place}; name another one")
        try:
            content = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
            if (content["format"], content["version"]) != (_FORMAT, _VERSION):
                raise ValueError("another format")
            found = cls(place, str(content["run"]), set(content["files"]), set(content["folders"]))
            if not all(map(_is_inside, found.files | found.folders)):
                raise ValueError("a name that leads out of the directory")
        except FileNotFoundError:
            return cls(place, "")
        except OSError as error:
            raise unreadable(place / MANIFEST, error, "give another directory") from error
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"{place / MANIFEST} is not a list of files written by elsv: {error}; "
                "give another directory, or move its content away"
            ) from error
        found.files = {name for name in found.files if found._is_there(name)}
        found.folders = {name for name in found.folders if found._is_there(name)}
        return found

    def check(self, planned: Iterable[str]) -> None:
        """Raise `InvalidInputError` if what elsv did not write stands where these files would go."""
        planned = sorted(planned)
        foreign = [name for name in planned if name not in self.files and self._is_there(name)]
        foreign += [
            folder
            for folder in _folders_of(planned)
            if self._is_there(folder) and not (self.directory / folder).is_dir()
        ]
        if foreign:
            more = f" and {len(foreign) - _SHOWN} more" if len(foreign) > _SHOWN else ""
            raise InvalidInputError(
                f"{self.directory} holds files that this elsv did not write there: "
                f"{', '.join(foreign[:_SHOWN])}{more}; give another directory, or move them away"
            )

    def begin(self, run: str, overwrite: bool = False) -> None:
        """Make the directory that of `run`; what is there of another run may go only with `overwrite`.

        Its files stay until they are removed or overwritten.
        """
        if self.files and self.run != run and not overwrite:
            raise InvalidInputError(
                f"{self.directory} holds another run (settings, policies or version differ); "
                "give another directory, or replace it with --overwrite (overwrite=True)"
            )
        self.run = run
        self._write()

    def path(self, name: str) -> Path:
        """Return where to write a file; from now on it is a file of the run."""
        self.claim([name])
        return self.directory / name

    def claim(self, names: Iterable[str]) -> None:
        """Note that these files, and the folders that they need, are the run's, before they are written."""
        new = set(names) - self.files
        if new:
            self.check(new)
            self.files |= new
            self.folders |= {folder for folder in _folders_of(new) if not self._is_there(folder)}
            self._write()

    def remove(self, which: Choice = _every) -> None:
        """Remove the run's files whose names `which` is true of, and its folders if they are empty then."""
        for name in sorted(filter(which, self.files)):
            try:
                (self.directory / name).unlink(missing_ok=True)
            except OSError as error:
                reason = error.strerror or error
                raise InvalidInputError(f"cannot remove {self.directory / name}: {reason}") from error
            self.files.discard(name)
        for folder in sorted(self.folders, reverse=True):
            if folder not in _folders_of(self.files):
                with suppress(OSError):  # it is not empty
                    (self.directory / folder).rmdir()
                    self.folders.discard(folder)
        self._write()

    def _is_there(self, name: str) -> bool:
        return os.path.lexists(self.directory / name)

    def _write(self) -> None:
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "run": self.run,
            "files": sorted(self.files),
            "folders": sorted(self.folders),
        }
        write_text(self.directory / MANIFEST, json.dumps(content, indent=1) + "\n")


def _folders_of(names: Iterable[str]) -> list[str]:
    return sorted({parent.as_posix() for name in names for parent in Path(name).parents} - {"."})


def _is_inside(name: object) -> bool:
    if not isinstance(name, str) or not name or "\0" in name:
        return False
    return not Path(name).is_absolute() and ".." not in Path(name).parts
