"""Calculators for retirement planning.

All rates are percent a year, after fees; 5 means 5 %. A yearly rate is compounded monthly so that twelve months make
exactly the year: the monthly rate is (1 + yearly) ** (1/12) - 1. Every function refuses input that makes no sense with
a sentence that says what would.
"""

import math
from typing import Literal

# So long nobody plans.
MOST_YEARS = 80


def project_savings(
    years: float,
    current_savings: float = 0,
    monthly_contribution: float = 0,
    annual_return: float = 5.0,
    annual_inflation: float = 2.5,
    contribution_growth: float = 0.0,
) -> dict:
    """Project what savings grow to when the same amount is added at the end of every month.

    Args:
        years: How long one saves, in years; parts of a year count in whole months.
        current_savings: What is there today.
        monthly_contribution: What is added at the end of every month.
        annual_return: Yearly return after fees, in percent: 5 means 5 %.
        annual_inflation: Yearly inflation, in percent.
        contribution_growth: By how many percent the contribution rises after each year; 0 for never.

    Returns:
        The balance, the same in today's money, what was paid in, and what was gained.
    """
    months = _months(years)
    amount(current_savings, "current_savings")
    amount(monthly_contribution, "monthly_contribution")
    monthly = _monthly(rate(annual_return, "annual_return"))
    rise = 1 + rate(contribution_growth, "contribution_growth") / 100
    inflation = 1 + rate(annual_inflation, "annual_inflation") / 100

    balance = current_savings * (1 + monthly) ** months
    paid_in = float(current_savings)
    for year in range(math.ceil(months / 12)):
        in_this_year = min(12, months - 12 * year)
        contribution = monthly_contribution * rise**year
        after = months - 12 * year - in_this_year
        balance += contribution * _pot(monthly, in_this_year) * (1 + monthly) ** after
        paid_in += contribution * in_this_year
    return {
        "balance": money(balance),
        "balance_in_todays_money": money(balance / inflation ** (months / 12)),
        "paid_in": money(paid_in),
        "gained": money(balance - paid_in),
        "months": months,
    }


def required_contribution(
    target: float,
    years: float,
    current_savings: float = 0,
    annual_return: float = 5.0,
    annual_inflation: float = 2.5,
    target_in: Literal["todays_money", "future_money"] = "todays_money",
) -> dict:
    """Find the contribution at the end of every month that makes savings reach a target in time.

    Args:
        target: The savings to reach.
        years: How long one saves, in years; parts of a year count in whole months.
        current_savings: What is there today.
        annual_return: Yearly return after fees, in percent: 5 means 5 %.
        annual_inflation: Yearly inflation, in percent; it matters for a target in today's money.
        target_in: Whether the target is said in today's money or in the money of then.

    Returns:
        The monthly contribution, the target in the money of then, and what today's savings grow to by themselves.
    """
    months = _months(years)
    amount(target, "target")
    amount(current_savings, "current_savings")
    monthly = _monthly(rate(annual_return, "annual_return"))
    inflation = 1 + rate(annual_inflation, "annual_inflation") / 100
    if target_in not in ("todays_money", "future_money"):
        raise ValueError("target_in is 'todays_money' or 'future_money'.")

    goal = target * inflation ** (months / 12) if target_in == "todays_money" else target
    by_itself = current_savings * (1 + monthly) ** months
    contribution = max(0.0, goal - by_itself) / _pot(monthly, months)
    return {
        "monthly_contribution": money(contribution),
        "target_in_future_money": money(goal),
        "savings_grow_by_themselves_to": money(by_itself),
        "is_reached_without_saving": by_itself >= goal,
        "months": months,
    }


def withdrawal_horizon(
    savings: float,
    annual_spending: float,
    other_income: float = 0,
    annual_return: float = 4.0,
    annual_inflation: float = 2.5,
    age: float | None = None,
) -> dict:
    """Find how long savings last when spending rises with inflation and is taken out at the start of every month.

    Args:
        savings: What is there when the withdrawals begin.
        annual_spending: What one spends in a year, in today's money.
        other_income: Pensions and the like in a year, in today's money; taken to rise with inflation too.
        annual_return: Yearly return after fees, in percent: 4 means 4 %.
        annual_inflation: Yearly inflation, in percent.
        age: How old one is when the withdrawals begin; without it no age is told.

    Returns:
        How many years the savings last and until what age, or that they do not run out.
    """
    amount(savings, "savings")
    amount(annual_spending, "annual_spending")
    amount(other_income, "other_income")
    grown = 1 + rate(annual_return, "annual_return") / 100
    inflation = 1 + rate(annual_inflation, "annual_inflation") / 100
    if age is not None and not 0 <= number(age, "age") <= 120:
        raise ValueError("age is between 0 and 120.")

    gap = annual_spending - other_income
    told = {"yearly_gap": money(max(gap, 0.0)), "first_year_withdrawal_percent": None, "lasts_years": None, "until_age": None}
    if gap <= 0:
        return told | {"outcome": "Other income covers the spending: nothing is withdrawn."}
    if savings > 0:
        told["first_year_withdrawal_percent"] = round(100 * gap / savings, 2)
    # In today's money the withdrawals are always the same, and the savings grow by what is left after inflation.
    months = _months_until_empty(savings, gap / 12, (grown / inflation) ** (1 / 12) - 1)
    if months is None or months > 12 * MOST_YEARS:
        return told | {"outcome": f"The savings do not run out within {MOST_YEARS} years."}
    told["lasts_years"] = round(months / 12, 1)
    if age is not None:
        told["until_age"] = round(age + months / 12, 1)
    return told | {"outcome": "The savings run out."}


def adjust_for_inflation(
    amount_of_money: float,
    years: float,
    annual_inflation: float = 2.5,
    direction: Literal["to_the_future", "to_today"] = "to_the_future",
) -> dict:
    """Say what an amount of today will be called in some years, or what an amount of then is worth today.

    Args:
        amount_of_money: The amount.
        years: How many years lie between.
        annual_inflation: Yearly inflation, in percent: 2.5 means 2.5 %.
        direction: "to_the_future" for what costs the same then, "to_today" for what an amount of then buys today.

    Returns:
        The adjusted amount.
    """
    amount(amount_of_money, "amount_of_money")
    factor = (1 + rate(annual_inflation, "annual_inflation") / 100) ** span(years)
    if direction == "to_the_future":
        adjusted = amount_of_money * factor
    elif direction == "to_today":
        adjusted = amount_of_money / factor
    else:
        raise ValueError("direction is 'to_the_future' or 'to_today'.")
    return {"amount": money(adjusted), "factor": round(factor, 6)}


def number(value, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{name} is a number, and {value!r} is none.")
    return value


def amount(value, name: str) -> float:
    if not 0 <= number(value, name) <= 1e12:
        raise ValueError(f"{name} is an amount of money from 0 to a million millions, and {value} is not.")
    return value


def rate(value, name: str) -> float:
    if not -20 <= number(value, name) <= 50:
        raise ValueError(f"{name} is in percent a year, from -20 to 50, and {value} is not. 5 means 5 %.")
    return value


def span(value, name: str = "years") -> float:
    if not 0 < number(value, name) <= MOST_YEARS:
        raise ValueError(f"{name} is more than 0 and at most {MOST_YEARS}, and {value} is not.")
    return value


def money(value: float) -> float:
    return round(value, 2)


def _months(years) -> int:
    months = round(span(years) * 12)
    if months < 1:
        raise ValueError("years is at least one month: a twelfth.")
    return months


def _monthly(yearly: float) -> float:
    return (1 + yearly / 100) ** (1 / 12) - 1


def _pot(monthly: float, months: int) -> float:
    """What 1 at the end of each month grows to."""
    return months if abs(monthly) < 1e-12 else ((1 + monthly) ** months - 1) / monthly


def _months_until_empty(savings: float, withdrawal: float, monthly: float) -> float | None:
    """How many withdrawals at the start of a month there are; None when the savings earn what is withdrawn."""
    if abs(monthly) < 1e-12:
        return savings / withdrawal
    # The present worth of n withdrawals is withdrawal * (1 + i) * (1 - (1 + i) ** -n) / i.
    left = 1 - savings * monthly / (withdrawal * (1 + monthly))
    return None if left <= 0 else -math.log(left) / math.log(1 + monthly)
