"""Write every message anew, for a person to read the differences:  python -m tests.errors.update"""

from tests.errors.rendering import CASES, MESSAGES, message_of

if __name__ == "__main__":
    for old in MESSAGES.glob("*.txt"):
        old.unlink()
    for name, case in CASES.items():
        (MESSAGES / f"{name}.txt").write_text(message_of(case), encoding="utf-8")
