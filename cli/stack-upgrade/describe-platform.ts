import { describeDocker } from "./docker/docker-names.ts";
import { describeKubernetes } from "./kubernetes/kubernetes-names.ts";
import type { PlatformDescription } from "./stack-platform.ts";
import type { StackTarget } from "./stack-target.ts";

/** Describes a stack on its platform for messages. Pure. */
export function describePlatform({
  prefix,
  target,
}: Readonly<{ prefix: string; target: StackTarget }>): PlatformDescription {
  return target.kind === "docker" ? describeDocker({ prefix, target }) : describeKubernetes(target);
}
