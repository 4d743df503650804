# Every service of Gatehouse in one image; the subcommand chooses. Written for the classic builder too.
# BASE_IMAGE needs Node 24 or later and nothing else; BUILD_IMAGE needs npm beside it and is not part of the result.
ARG BASE_IMAGE=node:26-bookworm-slim
ARG BUILD_IMAGE=node:26-bookworm-slim

FROM ${BUILD_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# What only editors and debuggers read is left out; viem's TypeScript sources are half of its size.
RUN npm ci --omit=dev --omit=optional --omit=peer --ignore-scripts --no-audit --no-fund \
 && find node_modules -type f \( -name '*.map' -o -name '*.md' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete \
 && find node_modules -path '*/viem/*' -type f -name '*.ts' -delete \
 && rm -rf node_modules/.package-lock.json /root/.npm
RUN mkdir -p /owned/run/gatehouse/files /owned/run/gatehouse/incoming /owned/run/gatehouse/engine /owned/var/lib/gatehouse /owned/data \
 && chmod 0700 /owned/run/gatehouse/files /owned/run/gatehouse/incoming /owned/var/lib/gatehouse

FROM ${BASE_IMAGE}
ARG VERSION=0.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="gatehouse" \
      org.opencontainers.image.description="Runs, guards and charges for an EVM node" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build --chown=10001:10001 /owned/ /
COPY --from=build /app/node_modules /app/node_modules
COPY package.json LICENSE /app/
COPY daemon /app/daemon
COPY sidecar /app/sidecar
COPY facilitator /app/facilitator
COPY resource-server /app/resource-server
COPY client /app/client
COPY devnet /app/devnet
COPY cli /app/cli
COPY infra/images/health-check.ts infra/images/install-files.ts infra/images/seed-file.ts /app/infra/images/
ENV NODE_ENV=production NODE_OPTIONS=--disable-warning=ExperimentalWarning
WORKDIR /var/lib/gatehouse
USER 10001:10001
ENTRYPOINT ["node", "/app/cli/gatehouse.ts"]
CMD ["--help"]
