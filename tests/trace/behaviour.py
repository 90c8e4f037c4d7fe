"""A program that JAX copies arrays for in many ways. Not a test: it is traced by one.

A comment `# moves: KIND COUNT SHAPE` says what must be seen at the line.
"""

import threading

import jax
import jax.numpy as jnp
import numpy as np

HOST = jax.devices("cpu")[0]
ACCELERATOR = jax.devices()[0]
assert HOST != ACCELERATOR
assert jax.default_backend() == "gpu"
assert (HOST.platform, ACCELERATOR.platform) == ("cpu", "gpu")
assert jax.device_count() == len(jax.local_devices()) == len(jax.devices("gpu")) == 1


def on_host(rows):
    with jax.default_device(HOST):
        return jnp.asarray(np.ones((rows, 4), np.float32))  # makes


@jax.jit
def total(params, x):
    return sum(jnp.sum(value) for value in params.values()) + x


def loop(array):
    for i in range(20):
        array[i % 3]  # moves: dragged 20 (3, 4)


def params_again_and_again():
    params = {"w": on_host(5), "b": on_host(6)}
    for _ in range(3):
        total(params, 1.0)  # moves: dragged 3 (5, 4); dragged 3 (6, 4)


def compiled_ahead():
    array = on_host(7)
    double = jax.jit(lambda x: x * 2).lower(jnp.ones((7, 4))).compile()
    for _ in range(3):
        double(array)  # moves: dragged 3 (7, 4)


def generator(array):
    for row in array:  # moves: dragged 1 (8, 4)
        yield row


def in_a_thread():
    array = on_host(9)
    thread = threading.Thread(target=lambda: array[0])  # moves: dragged 1 (9, 4)
    thread.start()
    thread.join()


def raises():
    array = on_host(10)
    try:
        with jax.default_device(HOST):
            raise ValueError
    except ValueError:
        array + 1  # moves: dragged 1 (10, 4)


def default_for_all():
    array = on_host(11)
    jax.config.update("jax_default_device", HOST)
    array[0]
    jax.config.update("jax_default_device", None)
    array[0]  # moves: dragged 1 (11, 4)


def stays():
    array = on_host(12)
    committed = jax.device_put(array, HOST)
    for _ in range(3):
        committed[0]
        with jax.default_device(HOST):
            array[0]
        np.asarray(array)
        len(array), array.shape, array[:], array.item(0), repr(array)
        jax.device_put(array, ACCELERATOR)
    total({"committed": committed}, 1.0)


def the_other_way():
    array = jnp.ones((13, 4))
    with jax.default_device(HOST):
        for _ in range(3):
            array * 2  # moves: followed 3 (13, 4)


def beside_a_committed_one():
    array = on_host(14)
    array + jax.device_put(np.ones((14, 4), np.float32), ACCELERATOR)  # moves: dragged 1 (14, 4)


def large_ones(rows):
    made = []
    for _ in range(2):
        with jax.default_device(HOST):
            made.append(jnp.ones((rows, 1024, 1024)))  # makes
    for _ in range(2):
        with jax.default_device(HOST):
            made.append(jnp.ones((rows, 1024, 1024)))  # makes again
    for array in made:
        array[0]  # moves: dragged 4 (2, 1024, 1024)


def keys_and_scalars():
    with jax.default_device(HOST):
        key = jax.random.key(0)
        scalar = jnp.float32(3)
    jax.random.normal(key, (3,))  # moves: small 1 ()
    scalar + 1  # moves: small 1 ()


def library(array):
    # The frames between are not the program's.
    jax.tree.map(
        lambda leaf: leaf * 2,  # moves: dragged 1 (15, 4)
        {"a": array},
    )


loop(on_host(3))
params_again_and_again()
compiled_ahead()
list(generator(on_host(8)))
in_a_thread()
raises()
default_for_all()
stays()
the_other_way()
beside_a_committed_one()
large_ones(2)
keys_and_scalars()
library(on_host(15))
