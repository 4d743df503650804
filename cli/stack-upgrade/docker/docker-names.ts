import type { PlatformDescription } from "../stack-platform.ts";
import { formatDockerCommand } from "../stack-commands.ts";
import type { DockerTarget } from "../stack-target.ts";

/** Builds the names of a stack's containers and volumes affected by an upgrade. Pure. */
export function buildNames({ prefix }: Readonly<{ prefix: string }>) {
  return {
    node: `${prefix}-node`,
    sidecar: `${prefix}-sidecar`,
    job: `${prefix}-node-upgrade`,
    look: `${prefix}-node-look`,
    volume: `${prefix}-node-workspace`,
  };
}

/** Describes a stack on Docker for messages. Pure. */
export function describeDocker({
  prefix,
  target,
}: Readonly<{ prefix: string; target: DockerTarget }>): PlatformDescription {
  const { node, sidecar, volume } = buildNames({ prefix });
  return {
    node,
    volume,
    plan: {
      stop: `Stop ${sidecar}, then ${node} within its grace. From here on the gateway is away.`,
      copy: (copyWords) => `Copy the node's data and node.conf next to them in ${volume}: ${copyWords}.`,
      update: "Run pulumi up.",
      clean: "Once it is proved, remove the copy: from then on there is no way back to the old data.",
      back: "If anything fails before pulumi up: start both again. If anything fails later: stop both, set the old image, put old data and old node.conf back, run pulumi up. Then prove the old version. Blocks that the new version took in are fetched again.",
    },
    imageProof: "by the id of its image alone",
    resume: formatDockerCommand(target.engine, "exec", sidecar, "node", "/app/cli/gatehouse.js", "resume"),
  };
}
