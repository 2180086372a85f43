"""The covariance structures of Celeux and Govaert (1995), against R's mclust.

The figures are those of mclust 6.0.0 on R's iris, printed by this command, for each code:

    Rscript -e 'library(mclust); f <- MclustDA(iris[, 1:4], iris$Species, modelType = "EDDA",
      modelNames = code); p <- predict(f); v <- function(k) f$models[[k]]$parameters$variance;
      cat(f$loglik, mean(p$classification != iris$Species),
          sapply(1:3, function(k) log(det(v(k)$sigma[, , 1]))), p$z[71, 2])'
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

import genus
from cases import refused
from genus import GDA
from genus.solve.structures import CODES, structured

# log p(x) of all rows, error, log determinants of three classes, p(versicolor | row 71)
MCLUST = {
    "EII": (-414.697951, 0.073333, -7.619829, -7.619829, -7.619829, 0.81355258),
    "VII": (-392.498414, 0.080000, -10.321003, -7.507126, -6.099468, 0.73702822),
    "EEI": (-364.517364, 0.040000, -8.427556, -8.427556, -8.427556, 0.26055267),
    "VEI": (-340.836052, 0.033333, -11.424880, -8.320636, -6.682329, 0.20079390),
    "EVI": (-342.973698, 0.040000, -8.692391, -8.692391, -8.692391, 0.17175224),
    "VVI": (-309.362758, 0.040000, -12.107902, -8.473354, -7.022939, 0.15449406),
    "EEE": (-256.646184, 0.020000, -10.039350, -10.039350, -10.039350, 0.24907733),
    "VEE": (-238.394699, 0.020000, -12.051033, -10.465757, -8.302145, 0.13283353),
    "EVE": (-235.550484, 0.026667, -10.328163, -10.328163, -10.328163, 0.34529705),
    "VVE": (-215.344305, 0.020000, -12.218956, -10.873986, -8.695021, 0.21757551),
    "EEV": (-215.143263, 0.013333, -10.604727, -10.604727, -10.604727, 0.56206217),
    "VEV": (-187.709744, 0.020000, -13.143805, -10.832589, -8.907905, 0.39604390),
    "EVV": (-209.454798, 0.020000, -10.690632, -10.690632, -10.690632, 0.49448239),
    "VVV": (-182.920849, 0.020000, -13.148171, -10.955136, -9.007869, 0.32845133),
}
# Those that mclust solves step by step and stops early: log p(x, y), which is to be maximised.
STEPS = {"VEE": -245.681596, "EVE": -241.542708, "VVE": -221.455896}

X, Y = load_iris(return_X_y=True)
X[34], X[37] = [4.9, 3.1, 1.5, 0.2], [4.9, 3.6, 1.4, 0.1]  # as in R; scikit-learn's rows are wrong


@pytest.mark.parametrize("code", CODES)
def test_it_is_that_of_mclust(code):
    model = GDA(code).fit(X, Y)
    likelihood, error, *determinants, posterior = MCLUST[code]
    exact = code not in STEPS
    assert 1 - model.score(X, Y) == pytest.approx(error, abs=1e-6)
    covariances = np.broadcast_to(model.covariance_, (3, 4, 4))
    found = np.linalg.slogdet(covariances)[1]
    assert_allclose(found, determinants, atol=2e-6 if exact else 0.05)
    assert model.predict_proba(X[[70]])[0, 1] == pytest.approx(
        posterior, abs=1e-7 if exact else 0.03
    )
    if exact:
        assert model.log_density(X).sum() == pytest.approx(likelihood, abs=1e-5)
    else:
        assert model.log_likelihood(X, Y) >= STEPS[code] - 1e-6


@pytest.mark.parametrize("code", CODES)
def test_no_nearby_covariances_of_the_structure_are_likelier(code):
    """The covariances are a stationary point: of rotated, stretched or blown up ones none wins."""
    best = GDA(code).fit(X, Y)
    rng = np.random.default_rng(0)
    covariances = np.array(np.broadcast_to(best.covariance_, (3, 4, 4)))
    rows = [X[k == Y] - X[k == Y].mean(axis=0) for k in range(3)]

    def likelihood(found):
        return -0.5 * sum(
            50 * np.linalg.slogdet(one)[1] + np.einsum("ij,jl,il->", z, np.linalg.inv(one), z)
            for one, z in zip(found, rows, strict=True)
        )

    top = likelihood(covariances)
    for _ in range(20):
        factor = np.exp(1e-3 * rng.normal(size=3 if code[0] == "V" else 1))
        assert likelihood(covariances * np.broadcast_to(factor, 3)[:, None, None]) <= top + 1e-7
        if code[2] == "E":  # one small rotation of all
            twist = 1e-3 * rng.normal(size=(4, 4))
            turn, _ = np.linalg.qr(np.eye(4) + twist - twist.T)
            turned = np.einsum("ij,kjl,ml->kim", turn, covariances, turn)
            assert likelihood(turned) <= top + 1e-7


def test_codes_that_have_other_names():
    for code, same in (("EEE", GDA()), ("VVV", GDA(False)), ("EEI", GDA(diagonal=True))):
        model, given = GDA(code).fit(X, Y), same.fit(X, Y)
        assert_allclose(model.covariance_, given.covariance_)
        assert bool(model.shared_) == bool(given.shared_)
        assert model.diagonal_ == given.diagonal_
    naive = GDA("VVI").fit(X, Y)
    assert_allclose(naive.covariance_, GDA(False, diagonal=True).fit(X, Y).covariance_)
    assert GDA("EEE").fit(X, Y).coef_.shape == (3, 4)
    with pytest.raises(AttributeError, match="quadratic"):
        _ = GDA("VEV").fit(X, Y).coef_


def test_one_class_more_and_files_and_twins(tmp_path):
    model = GDA("VEV").partial_fit(X, Y, classes=[0, 1, 2, 3])
    assert_allclose(model.predict_proba(X)[:, :3], GDA("VEV").fit(X, Y).predict_proba(X))
    fitted = GDA(False).fit(X, Y).resolve(shared="EVE")
    fitted.save(tmp_path / "model")
    assert_allclose(genus.load(tmp_path / "model").predict_proba(X), fitted.predict_proba(X))
    assert_allclose(fitted.to_sklearn().predict_proba(X), fitted.predict_proba(X), atol=1e-8)
    linear = GDA("EII").fit(X, Y)
    assert_allclose(linear.to_sklearn().predict_proba(X), linear.predict_proba(X), atol=1e-8)


def test_bad_options_and_too_few_rows():
    with refused("VEV", "EEE", "xyz"):
        GDA("xyz").fit(X, Y)
    for name, value in (("shrinkage", 0.1), ("diagonal", True), ("unbiased", True)):
        with refused("VEV", name):
            GDA("VEV", **{name: value}).fit(X, Y)
    few = np.r_[0:3, 50:100]
    for code in ("VVV", "EVV"):
        with refused("full rank", "shares more"):
            GDA(code).fit(X[few], Y[few])
    assert GDA("VEE").fit(X[few], Y[few]).score(X[few], Y[few]) > 0.9
    same = np.r_[[0] * 5, 50:100]
    with refused("volume of its covariance cannot be estimated"):
        GDA("VEE").fit(X[same], Y[same])


def test_structures_do_not_depend_on_the_order_of_classes():
    scatter = np.stack([np.cov(X[k == Y].T, bias=True) * 50 for k in range(3)])
    rows = np.array([50.0, 40.0, 60.0])
    for code in CODES:
        found = structured(code, scatter, rows)
        turned = structured(code, scatter[::-1], rows[::-1])[::-1]
        assert_allclose(found, turned, rtol=1e-4, atol=1e-5)
