# All of Gatehouse's services in one image, selected by the subcommand. Also works with the classic builder.
# BASE_IMAGE needs Node 24 or later and nothing else: no shell, no npm. `npm run images:prepare` installs the dependencies that are copied
# here, from package-lock.json; `pulumi up` runs it automatically.
ARG BASE_IMAGE=node:26-bookworm-slim
FROM ${BASE_IMAGE}
RUN ["node", "--eval", "if (Number(process.versions.node.split('.')[0]) < 24) throw new Error('BASE_IMAGE has Node ' + process.version + '; Gatehouse needs 24 or later')"]
# Mount points of volumes, with their owner. One line each, because otherwise parent directories would change their owner too.
COPY --chown=10001:10001 .gatehouse/images/owned/run/ /run/gatehouse/
COPY --chown=10001:10001 .gatehouse/images/owned/state/ /var/lib/gatehouse/
COPY --chown=10001:10001 .gatehouse/images/owned/workspace/ /data/
COPY .gatehouse/images/gatehouse/node_modules /app/node_modules
COPY package.json LICENSE /app/
COPY daemon /app/daemon
COPY node /app/node
COPY engine-proxy /app/engine-proxy
COPY status /app/status
COPY health /app/health
COPY gateway /app/gateway
COPY x402 /app/x402
COPY sidecar /app/sidecar
COPY facilitator /app/facilitator
COPY resource-server /app/resource-server
COPY client /app/client
COPY devnet /app/devnet
COPY cli /app/cli
COPY docs/runbooks /app/docs/runbooks
COPY infra/images/health-check.mjs infra/images/install-files.ts infra/images/seed-node-conf.ts /app/infra/images/
COPY infra/stack-services.ts /app/infra/
# Besides the main thread, only one thread collects garbage and compiles: with V8's four, a busy service would use up its CPU quota for each
# 100 ms, and be suspended for the rest. The state directory keeps compiled code, which saves a sidecar 25 MiB; the last two make the C
# library use one heap and return freed memory.
ENV NODE_ENV=production NODE_OPTIONS="--disable-warning=ExperimentalWarning --v8-pool-size=1" \
    NODE_COMPILE_CACHE=/var/lib/gatehouse/compile-cache MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=131072
WORKDIR /var/lib/gatehouse
USER 10001:10001
# The classic builder sets its own mode on copied directories. With a real node, which has another user, the group needs write access, too.
RUN ["node", "--eval", "for (const path of ['/data', '/var/lib/gatehouse']) fs.chmodSync(path, 0o770)"]
# Starts every service once, so that they later start from compiled code; on Docker, a new volume there initially contains it. NODE_USER is
# the user ID of a real node's image, and of the node's sidecar: Node keeps a cache for each user.
ARG NODE_USER=10001
RUN ["node", "/app/cli/compile-cache.main.ts"]
ENTRYPOINT ["node", "/app/cli/gatehouse.js"]
CMD ["--help"]
ARG BASE_IMAGE
ARG VERSION=0.0.0
ARG SOURCE=
LABEL org.opencontainers.image.title="gatehouse" \
      org.opencontainers.image.description="Runs, guards and charges for an EVM node" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.base.name="${BASE_IMAGE}"
