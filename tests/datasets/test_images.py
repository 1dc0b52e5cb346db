"""Patches that overlap, colour channels, image files, and what is said of the theory then."""

import json

import numpy as np
import pytest
from PIL import Image

from planted import ConvNetwork, PlantedConvRegressor, match
from planted.cli import main
from planted.datasets import DataError, images_to_patches, names_images, patch_to_image, read_image_table, read_images
from planted.methods import FilterProblem


def test_strided_patches_are_those_cut_by_hand():
    images = np.random.default_rng(0).standard_normal((2, 5, 6, 3))
    patches = images_to_patches(images, (2, 3, 1, 2))
    corners = [(i, j) for i in range(0, 4) for j in (0, 2)]
    assert patches.shape == (2, len(corners), 18)
    for number, (i, j) in enumerate(corners):
        np.testing.assert_array_equal(patches[1, number], images[1, i : i + 2, j : j + 3].ravel())
    np.testing.assert_array_equal(patch_to_image(patches[1, 0], (2, 3, 1, 2)), images[1, :2, :3])
    np.testing.assert_array_equal(
        images_to_patches(images[:, :4], (2, 3)), images_to_patches(images[:, :4], (2, 3, 2, 3))
    )


@pytest.mark.parametrize("grid", [(2,), (2, 3, 1), (0, 2), (2, 2, 0, 1), (1.5, 2)])
def test_grids_that_cannot_be_are_refused(grid):
    with pytest.raises(ValueError, match="patch_shape must be two positive integers"):
        images_to_patches(np.ones((1, 4, 4)), grid)


def test_images_smaller_than_a_patch_are_refused():
    with pytest.raises(ValueError, match="have no patch of 5x5"):
        images_to_patches(np.ones((1, 4, 4)), (5, 5, 1, 1))


def planted_images(rng, n, grid, channels=1):
    images = rng.standard_normal((n, 6, 6, channels))
    patches = images_to_patches(images, grid)
    filter = rng.standard_normal(patches.shape[2])
    teacher = ConvNetwork(filter / np.linalg.norm(filter), rng.standard_normal(patches.shape[1]))
    return images, teacher.predict(patches), teacher


@pytest.mark.parametrize(("grid", "said"), [((3, 3), False), ((3, 3, 3, 1), True)])
def test_overlapping_colour_patches_are_fitted_and_the_theory_is_named(grid, said):
    images, y, teacher = planted_images(np.random.default_rng(1), 900, grid, 2)
    est = PlantedConvRegressor(patch_shape=grid, random_state=0).fit(images, y)
    assert est.result_.status == "recovered"
    assert match(est.network_, teacher).weight_error < 1e-8
    assert est.filter_.shape == (3, 3, 2)
    assert ("patches overlap" in est.result_.reason) is said
    np.testing.assert_allclose(est.predict(images[:5]), y[:5], atol=1e-9)


def test_dependence_and_preferred_directions_are_seen():
    rng = np.random.default_rng(0)
    free = rng.standard_normal((2000, 3, 4))
    tied = free + 0.5 * free[:, :1]
    signs = rng.choice([-1.0, 1.0], (2000, 3, 4))
    y = np.ones(2000)
    assert FilterProblem.of(free, y + free[:, 0, 0], 1).remark == ""
    assert "correlated" in FilterProblem.of(tied, y + free[:, 0, 0], 1).remark
    assert "rotation-invariant" in FilterProblem.of(signs, y + free[:, 0, 0], 1).remark


def test_image_files_are_read_and_fitted_from_the_command_line(capsys, tmp_path):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (150, 4, 4), dtype=np.uint8)
    patches = images_to_patches(pixels / 255.0, (2, 2))
    teacher = ConvNetwork([0.5, -0.5, 0.5, -0.5], [1.0, 2.0, -1.0, 0.5])
    lines = ["image,y"]
    for i, (picture, target) in enumerate(zip(pixels, teacher.predict(patches), strict=True)):
        Image.fromarray(picture).save(tmp_path / f"{i}.png")
        lines.append(f"{i}.png,{target!r}".replace("np.float64(", "").replace(")", ""))
    table = tmp_path / "images.csv"
    table.write_text("\n".join(lines))
    assert names_images(table)
    images, _ = read_image_table(table, "y")
    np.testing.assert_allclose(images, pixels / 255.0)
    with pytest.raises(SystemExit) as stopped:
        main(["fit", str(table), "--conv", "--patch", "2x2", "--json", "--quiet"])
    answer = json.loads(capsys.readouterr().out)
    assert (stopped.value.code, answer["status"]) == (0, "recovered")
    with pytest.raises(SystemExit) as stopped:
        main(["fit", str(table), "--conv", "--quiet"])
    assert stopped.value.code == 2


def test_files_that_are_no_images_get_a_sentence(tmp_path):
    (tmp_path / "text.png").write_text("no pixels")
    Image.new("L", (2, 2)).save(tmp_path / "small.png")
    Image.new("RGB", (3, 2)).save(tmp_path / "large.png")
    with pytest.raises(DataError, match="is no image that can be read"):
        read_images([tmp_path / "text.png"])
    with pytest.raises(DataError, match="no image file at"):
        read_images([tmp_path / "none.png"])
    with pytest.raises(DataError, match="differ in size: 2x2, 2x3"):
        read_images([tmp_path / "small.png", tmp_path / "large.png"])
    table = tmp_path / "images.csv"
    table.write_text("image,y\nsmall.png,one\n")
    with pytest.raises(DataError, match="line 2: 'one' in column y is no number"):
        read_image_table(table, "y")
