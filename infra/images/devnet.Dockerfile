# A node to develop against: Gatehouse's devnet with its EVM. Also works with the classic builder.
# GATEHOUSE_IMAGE is the image of gatehouse.Dockerfile, GATEHOUSE_DIGEST identifies its content, because the tag stays the same when that
# image is rebuilt. The base of both needs /bin/sh, because a workspace's `node_cli` and `ops` are scripts.
ARG GATEHOUSE_IMAGE=gatehouse
FROM ${GATEHOUSE_IMAGE}
COPY .gatehouse/images/devnet/node_modules/@foundry-rs /app/node_modules/@foundry-rs
CMD ["devnet"]
ARG GATEHOUSE_IMAGE
ARG GATEHOUSE_DIGEST=unknown
ARG VERSION=0.0.0
ARG SOURCE=
LABEL org.opencontainers.image.title="gatehouse-devnet" \
      org.opencontainers.image.description="A node to develop against: the whole JSON-RPC interface over a local chain" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.base.name="${GATEHOUSE_IMAGE}" \
      org.opencontainers.image.base.digest="${GATEHOUSE_DIGEST}"
