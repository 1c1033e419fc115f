"""Compute what Acme refunds on one charge, and who approves it, by the rules of references/policy.md."""

import argparse
import json
import re
import sys
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")
LAST_DAY = {"first-charge": 14, "annual": 60, "renewal": 7}  # a duplicate can be claimed at any time
AGENT_LIMIT = Decimal(200)
LEAD_LIMIT = Decimal(2000)


def money(text: str) -> Decimal:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,2})?", text):
        raise argparse.ArgumentTypeError(f"`{text}` is not an amount such as 240.00")
    return Decimal(text)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog="Days are written YYYY-MM-DD.")
    parser.add_argument("--reason", required=True, choices=["duplicate", *LAST_DAY])
    parser.add_argument("--paid", required=True, type=money, help="the charge, for instance 240.00")
    parser.add_argument("--charged", required=True, type=date.fromisoformat, help="day of the charge")
    parser.add_argument("--asked", required=True, type=date.fromisoformat, help="day the customer asked")
    parser.add_argument("--period-end", type=date.fromisoformat, help="end of the paid period (for annual)")
    parser.add_argument("--refunded", type=money, default=Decimal(0), help="refunded on this charge before")
    parser.add_argument("--used", action="store_true", help="the account was used since the renewal")
    parser.add_argument("--repeat", action="store_true", help="another refund within 90 days")
    facts = parser.parse_args()
    if facts.asked < facts.charged:
        parser.error("--asked lies before --charged")
    if facts.reason == "annual" and (facts.period_end is None or facts.period_end <= facts.charged):
        parser.error("--reason annual needs a --period-end after --charged")
    return facts


def amount_due(facts: argparse.Namespace) -> tuple[Decimal, str]:
    """Return the amount before earlier refunds are subtracted, and the rule that gave it."""
    day = (facts.asked - facts.charged).days
    last_day = LAST_DAY.get(facts.reason)
    if last_day is not None and day > last_day:
        return Decimal(0), f"asked on day {day}, `{facts.reason}` ends on day {last_day}"
    if facts.reason == "renewal" and facts.used:
        return Decimal(0), "the account was used since the renewal"
    if facts.reason == "annual":
        period = (facts.period_end - facts.charged).days
        unused = max((facts.period_end - facts.asked).days, 0)
        return facts.paid * unused / period, f"{unused} of {period} days unused"
    return facts.paid, f"`{facts.reason}`: the whole charge"


def approval(amount: Decimal, facts: argparse.Namespace) -> str:
    if not amount:
        return "none"
    if amount > LEAD_LIMIT and facts.reason != "duplicate":
        return "finance"
    return "lead" if amount > AGENT_LIMIT or facts.repeat else "agent"


def main() -> None:
    facts = read_arguments()
    due, rule = amount_due(facts)
    amount = max(due - facts.refunded, Decimal(0)).quantize(CENT, ROUND_HALF_UP)
    answer = {"refund": str(amount), "rule": rule, "approval": approval(amount, facts)}
    sys.stdout.write(json.dumps(answer, indent=2) + "\n")


if __name__ == "__main__":
    main()
