# The files that the other two images copy (`npm run images:prepare`), for a machine without npm: build.sh extracts them from this image.
# Also works with the classic builder. BASE_IMAGE needs Node 24 or later and npm; npm_config_registry sets a registry other than npm's own.
ARG BASE_IMAGE=node:26-bookworm-slim
FROM ${BASE_IMAGE}
ARG npm_config_registry
WORKDIR /clone
COPY . .
RUN ["node", "infra/images/prepare.main.ts"]
CMD ["tar", "-cf", "-", ".gatehouse/images"]
