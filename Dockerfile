# Loci in a container. `docker build --target loci .` fetches the embedding model at the first start (90 MB);
# `--target loci-with-model`, the default, has it inside. bench/scripts/image_steps.py runs these steps without Docker.

FROM python:3.12-slim-bookworm AS build
ARG PREFIX=/opt/loci
WORKDIR /src
# The dependencies first: they change less often than the code, and this layer is kept.
COPY requirements.lock ./
RUN python -m venv "$PREFIX" \
    && "$PREFIX/bin/pip" install --no-cache-dir --require-hashes -r requirements.lock
COPY . ./
RUN "$PREFIX/bin/pip" install --no-cache-dir --no-deps .

FROM build AS model
ARG PREFIX=/opt/loci
ARG MODELS=/opt/models
RUN LOCI_HOME=/tmp/loci "$PREFIX/bin/loci" model install --dest "$MODELS"

FROM python:3.12-slim-bookworm AS loci
RUN groupadd --system --gid 10001 loci \
    && useradd --system --uid 10001 --gid 10001 --home-dir /data --shell /usr/sbin/nologin loci \
    && install --directory --owner loci --group loci --mode 0700 /data
COPY --from=build /opt/loci /opt/loci
# Every address of the container, of which compose.yaml publishes one port; without allowed hosts Loci would not start.
ENV PATH=/opt/loci/bin:$PATH \
    LOCI_HOME=/data \
    LOCI_HOST=0.0.0.0 \
    LOCI_ALLOWED_HOSTS=localhost \
    PYTHONUNBUFFERED=1
USER 10001:10001
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=90s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["loci"]
CMD ["up"]

FROM loci AS loci-with-model
COPY --from=model /opt/models /opt/models
# The first start copies it into /data/models and checks it, without the network.
ENV LOCI_MODEL_DIR=/opt/models/all-MiniLM-L6-v2
