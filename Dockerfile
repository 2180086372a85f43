# genus as a container:   docker build -t genus .
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/data" genus fit customers.csv --target churned
FROM python:3.13-slim AS build
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN python -m venv /opt/genus \
    && /opt/genus/bin/pip install --no-cache-dir '/source[plots,imap,postgres]'

FROM python:3.13-slim
COPY --from=build /opt/genus /opt/genus
RUN useradd --create-home --uid 1000 genus && mkdir /data && chown genus /data
ENV PATH=/opt/genus/bin:$PATH
USER 1000
WORKDIR /data
ENTRYPOINT ["genus"]
CMD ["--help"]
