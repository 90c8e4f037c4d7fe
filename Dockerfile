# docker build --tag placement-lint . && docker run --rm --volume "$PWD:/src:ro" placement-lint
FROM python:3.13-slim
COPY . /tmp/placement-lint
RUN pip install --no-cache-dir /tmp/placement-lint && rm -r /tmp/placement-lint
# Nobody's rights suffice to read; fixes need `--user "$(id -u):$(id -g)"`, and no `:ro`.
USER nobody
WORKDIR /src
ENTRYPOINT ["placement-lint"]
