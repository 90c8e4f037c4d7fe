"""What the functions of jax.scipy do, and of jax.image and jax.ops."""

from __future__ import annotations

from placement_lint.jaxmodel.effects import Effect, Gives, rows

_SPECIAL = """
bessel_jn beta betainc betaln boxcox>=0.10.2 boxcox1p>=0.10.2 comb>=0.10.2 dawsn>=0.10.2 digamma
entr erf erfc erfcinv>=0.12.0.1 erfcx>=0.10.2 erfinv exp1 expi expit expn factorial gamma gammainc
gammaincc gammaln gammasgn hyp1f1 hyp2f1>=0.6.2 i0 i0e i1 i1e kl_div log_ndtr log_softmax>=0.5.3
loggamma>=0.10.2 logit logsumexp multigammaln ndtr ndtri owens_t>=0.10.2 poch polygamma rel_entr
softmax>=0.5.3 spence sph_harm<=0.7.2 sph_harm_y>=0.5.3 wofz>=0.10.2 xlog1py xlogy zeta
"""
_SPECIAL_SEVERAL = "fresnel>=0.5.3 sici>=0.10.2"
_LINALG = """
block_diag cho_solve cholesky circulant>=0.10.2 companion>=0.10.2 convolution_matrix>=0.10.2 det
expm fiedler>=0.10.2 fiedler_companion>=0.10.2 funm hankel>=0.10.2 hessenberg inv
leslie>=0.10.2 lu_solve solve solve_sylvester>=0.10.2 solve_triangular sqrtm toeplitz
"""
_LINALG_SEVERAL = """
cho_factor eigh eigh_tridiagonal expm_frechet lu lu_factor polar qr qr_multiply>=0.10.2 rsf2csf schur
svd
"""
_LINALG_CREATE = """
dft>=0.10.2 hadamard>=0.10.2 helmert>=0.10.2 hilbert invhilbert>=0.10.2 invpascal>=0.10.2
pascal>=0.6.2
"""
_SIGNAL = "convolve convolve2d correlate correlate2d detrend fftconvolve"
_SIGNAL_SEVERAL = "csd istft stft welch"
_STATS = {
    "bernoulli": "cdf logpmf pmf ppf",
    "beta": "cdf logcdf logpdf logsf pdf sf",
    "betabinom": "logpmf pmf",
    "binom": "logpmf pmf",
    "cauchy": "cdf isf logcdf logpdf logsf pdf ppf sf",
    "chi2": "cdf logcdf logpdf logsf pdf sf",
    "dirichlet": "logpdf pdf",
    "expon": "cdf>=0.5.3 logcdf>=0.5.3 logpdf logsf>=0.5.3 pdf ppf>=0.5.3 sf>=0.5.3",
    "gamma": "cdf logcdf logpdf logsf pdf sf",
    "gennorm": "cdf logpdf pdf",
    "geom": "logpmf pmf",
    "gumbel_l": (
        "cdf>=0.7.2 logcdf>=0.7.2 logpdf>=0.7.2 logsf>=0.7.2 pdf>=0.7.2 ppf>=0.7.2 sf>=0.7.2"
    ),
    "gumbel_r": (
        "cdf>=0.7.2 logcdf>=0.7.2 logpdf>=0.7.2 logsf>=0.7.2 pdf>=0.7.2 ppf>=0.7.2 sf>=0.7.2"
    ),
    "laplace": "cdf logpdf pdf",
    "logistic": "cdf isf logpdf pdf ppf sf",
    "multinomial": "logpmf pmf",
    "multivariate_normal": "logpdf pdf",
    "nbinom": "logpmf pmf",
    "norm": "cdf isf logcdf logpdf logsf pdf ppf sf",
    "pareto": "cdf>=0.10.2 logcdf>=0.10.2 logpdf logsf>=0.10.2 pdf ppf>=0.10.2 sf>=0.10.2",
    "poisson": "cdf entropy>=0.10.2 logpmf pmf",
    "t": "logpdf pdf",
    "truncnorm": "cdf logcdf logpdf logsf pdf sf",
    "uniform": "cdf logpdf pdf ppf",
    "vonmises": "logpdf pdf",
    "wrapcauchy": "logpdf pdf",
}
_SEGMENTS = "segment_max segment_min segment_prod segment_sum"

ROWS = [
    *rows("jax.scipy.special", _SPECIAL, Effect.COMPUTE),
    *rows("jax.scipy.special", _SPECIAL_SEVERAL, Effect.COMPUTE, gives=Gives.ARRAYS),
    *rows("jax.scipy.special", "bernoulli", Effect.CREATE),
    *rows("jax.scipy.linalg", _LINALG, Effect.COMPUTE),
    *rows("jax.scipy.linalg", _LINALG_SEVERAL, Effect.COMPUTE, gives=Gives.ARRAYS),
    *rows("jax.scipy.linalg", _LINALG_CREATE, Effect.CREATE),
    *rows("jax.scipy.signal", _SIGNAL, Effect.COMPUTE),
    *rows("jax.scipy.signal", _SIGNAL_SEVERAL, Effect.COMPUTE, gives=Gives.ARRAYS, loses=True),
    *rows("jax.scipy.fft", "dct dctn idct idctn", Effect.COMPUTE),
    *rows("jax.scipy.stats", "rankdata sem", Effect.COMPUTE),
    *rows("jax.scipy.stats", "mode", Effect.COMPUTE, gives=Gives.ARRAYS),
    *[
        row
        for distribution, names in _STATS.items()
        for row in rows(f"jax.scipy.stats.{distribution}", names, Effect.COMPUTE)
    ],
    *rows("jax.scipy.ndimage", "map_coordinates", Effect.COMPUTE),
    *rows("jax.scipy.integrate", "trapezoid", Effect.COMPUTE),
    *rows("jax.scipy.cluster.vq", "vq", Effect.COMPUTE, gives=Gives.ARRAYS),
    *rows("jax.scipy.sparse.linalg", "bicgstab cg gmres", Effect.COMPUTE, gives=Gives.ARRAYS),
    *rows("jax.image", "resize scale_and_translate", Effect.COMPUTE),
    *rows("jax.ops", _SEGMENTS, Effect.COMPUTE),
]
