# The node to develop against: Gatehouse's devnet with the EVM that it runs on. Written for the classic builder too.
# GATEHOUSE_IMAGE is the image of gatehouse.Dockerfile; BUILD_IMAGE needs npm and is not part of the result.
ARG GATEHOUSE_IMAGE=gatehouse
ARG BUILD_IMAGE=node:26-bookworm-slim

FROM ${BUILD_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund && mkdir /evm && cp -a node_modules/@foundry-rs /evm/

FROM ${GATEHOUSE_IMAGE}
ARG VERSION=0.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="gatehouse-devnet" \
      org.opencontainers.image.description="A node to develop against: the whole JSON-RPC interface over a local chain" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /evm/@foundry-rs /app/node_modules/@foundry-rs
CMD ["devnet"]
