"""What the functions of jax.random do."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Effect, rows

_KEY = "PRNGKey clone fold_in key split"
_SAMPLE = """
ball bernoulli beta binomial bits categorical cauchy chisquare choice dirichlet
double_sided_maxwell exponential f gamma generalized_normal geometric gumbel laplace loggamma
logistic lognormal maxwell multinomial>=0.5.3 multivariate_normal normal orthogonal pareto
permutation poisson rademacher randint rayleigh t triangular truncated_normal uniform wald
weibull_min
"""

_OPTIONS = {
    "bits cauchy exponential gumbel laplace logistic maxwell normal rademacher uniform": (1, 2),
    "bernoulli chisquare dirichlet gamma generalized_normal geometric loggamma lognormal orthogonal"
    " pareto poisson rayleigh t wald": (2, 3),
    "ball beta binomial double_sided_maxwell f multinomial multivariate_normal truncated_normal"
    " weibull_min": (3, 4),
    "categorical": (2, 3, 4),
    "choice": (2, 3, 5),
    "permutation": (2, 3),
    "randint": (1, 4),
    "triangular": (4, 5),
}
OPTIONS = {
    f"jax.random.{name}": frozenset(positions)
    for names, positions in _OPTIONS.items()
    for name in names.split()
}
"""Where functions that draw numbers are given their shape and type, and what else is no array
(0.10.2)."""
OPTION_NAMES = frozenset({"axis", "dtype", "independent", "replace", "shape"})

ROWS = [
    *rows("jax.random", _KEY, Effect.KEY),
    *rows("jax.random", "key_data wrap_key_data", Effect.IDENTITY),
    *rows("jax.random", _SAMPLE, Effect.SAMPLE),
    *rows("jax.random", "key_impl key_dtype>=0.10.2", Effect.PLAIN),
]
