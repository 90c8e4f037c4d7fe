"""On which JAX each rule's proof held, in sentences that are kept in `proved.txt`.

To work one out takes JSON and a cryptographic digest, whose modules take longer to import than a
page takes to print. `python -m placement_lint.rules.proved` writes the sentences again.
"""

from __future__ import annotations

import os

from placement_lint.rules.proof_records import proof_folder, proof_path, proved_on, sentence

FILE = os.path.join(os.path.dirname(__file__), "proved.txt")


def kept_sentence(code: str) -> str | None:
    """Return the sentence about the proof of a rule, as it ships; None where there is none."""
    try:
        with open(FILE, encoding="utf-8") as file:
            kept = [line.rstrip("\n").split("\t") for line in file if line.startswith(code)]
        return next((text for _, mark, text in kept if mark == _mark(code)), None)
    except (OSError, ValueError):
        return None


def lines() -> str:
    """Return what the file is to hold: for each rule, the mark of its proof, and a sentence."""
    codes = [name for name in sorted(os.listdir(proof_folder())) if name.startswith("JDP")]
    found = [(code, proved_on(code)) for code in codes]
    return "".join(
        f"{code}\t{_mark(code)}\t{sentence(proved)}\n" for code, proved in found if proved
    )


def _mark(code: str) -> str:
    """Return a mark that changes whenever a proof is edited; it is no protection against
    forgery.
    """
    import binascii

    with open(proof_path(code), "rb") as file:
        text = file.read().replace(b"\r\n", b"\n")
    return f"{binascii.crc32(text):08x}"


if __name__ == "__main__":
    with open(FILE, "w", encoding="utf-8", newline="\n") as kept:
        kept.write(lines())
