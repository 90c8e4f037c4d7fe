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

ROWS = [
    *rows("jax.random", _KEY, Effect.KEY),
    *rows("jax.random", "key_data wrap_key_data", Effect.IDENTITY),
    *rows("jax.random", _SAMPLE, Effect.SAMPLE),
    *rows("jax.random", "key_impl key_dtype>=0.10.2", Effect.PLAIN),
]
