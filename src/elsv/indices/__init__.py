"""One arm at a time: mean plus exploration bonus."""
