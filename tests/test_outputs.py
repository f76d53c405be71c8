"""Only what a run of elsv wrote is ever overwritten or removed."""

import json

import pytest

from elsv._base.files import MANIFEST, Outputs
from elsv.errors import InvalidInputError


def write(outputs, *names):
    for name in names:
        path = outputs.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("ours")


def there(directory):
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*"))


@pytest.fixture
def filled(tmp_path):
    outputs = Outputs.read(tmp_path / "out")
    outputs.begin("one")
    write(outputs, "a.txt", "deep/er/b.txt")
    return tmp_path / "out"


def test_what_was_written_is_known_again_and_removed(filled):
    found = Outputs.read(filled)
    assert found.run == "one"
    assert found.files == {"a.txt", "deep/er/b.txt"}
    found.remove(lambda name: name == "a.txt")
    assert there(filled) == ["deep", "deep/er", "deep/er/b.txt", MANIFEST]
    found.remove()
    assert there(filled) == [MANIFEST]
    assert Outputs.read(filled).files == set()


def test_folders_and_files_of_others_stay(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "mine.txt").write_text("mine")
    outputs = Outputs.read(tmp_path)
    outputs.begin("one")
    write(outputs, "empty/a.txt", "ours/b.txt")
    (tmp_path / "ours" / "mine.txt").write_text("mine")
    outputs.remove()
    assert there(tmp_path) == sorted(["empty", "mine.txt", "ours", "ours/mine.txt", MANIFEST])


@pytest.mark.parametrize("name", ["a.txt", "deep/er/b.txt", "deep/c.txt"])
def test_a_file_of_others_in_our_place_is_refused(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    outputs = Outputs.read(tmp_path)
    with pytest.raises(InvalidInputError, match=f"there: {name}; give another directory, or move"):
        outputs.check([name, "other"])
    with pytest.raises(InvalidInputError, match="did not write"):
        outputs.path(name)
    outputs.begin("one")
    outputs.remove()
    assert path.read_text() == "mine"


def test_a_file_where_a_folder_is_needed_is_refused(tmp_path):
    (tmp_path / "figures").write_text("mine")
    with pytest.raises(InvalidInputError, match="did not write there: figures;"):
        Outputs.read(tmp_path).check(["figures/a.svg"])


def test_many_are_counted(tmp_path):
    for k in range(7):
        (tmp_path / f"{k}").write_text("")
    with pytest.raises(InvalidInputError, match="0, 1, 2 and 4 more;"):
        Outputs.read(tmp_path).check(map(str, range(7)))


def test_another_run_needs_leave(filled):
    with pytest.raises(InvalidInputError, match=r"holds another run .*--overwrite"):
        Outputs.read(filled).begin("two")
    assert Outputs.read(filled).run == "one"
    Outputs.read(filled).begin("one")
    Outputs.read(filled).begin("two", overwrite=True)
    found = Outputs.read(filled)
    assert found.run == "two"
    assert found.files == {"a.txt", "deep/er/b.txt"}


def test_a_run_whose_files_are_gone_is_no_run(filled):
    (filled / "a.txt").unlink()
    (filled / "deep" / "er" / "b.txt").unlink()
    Outputs.read(filled).begin("two")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"format": "elsv-files", "version": 2, "run": "x", "files": [], "folders": []}',
        '{"format": "elsv-files", "version": 1, "run": "x", "files": ["../a"], "folders": []}',
        '{"format": "elsv-files", "version": 1, "run": "x", "files": ["/etc/passwd"], "folders": []}',
        '{"format": "elsv-files", "version": 1, "run": "x", "files": [1], "folders": []}',
        '{"format": "elsv-files", "version": 1, "run": "x", "files": [], "folders": ["a/../../b"]}',
    ],
)
def test_a_list_that_is_not_ours_is_refused(tmp_path, content):
    (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(InvalidInputError, match="not a list of files written by elsv"):
        Outputs.read(tmp_path)
    assert (tmp_path / MANIFEST).read_text() == content


def test_a_file_is_named_before_it_is_written(tmp_path):
    outputs = Outputs.read(tmp_path)
    outputs.begin("one")
    outputs.path("a.txt")
    assert json.loads((tmp_path / MANIFEST).read_text())["files"] == ["a.txt"]
    (tmp_path / "a.txt").write_text("half")  # and here the run is killed
    again = Outputs.read(tmp_path)
    again.begin("one")
    again.remove()
    assert there(tmp_path) == [MANIFEST]


def test_what_cannot_be_removed_is_said(filled):
    (filled / "a.txt").unlink()
    (filled / "a.txt").mkdir()
    with pytest.raises(InvalidInputError, match="cannot remove"):
        Outputs.read(filled).remove()
