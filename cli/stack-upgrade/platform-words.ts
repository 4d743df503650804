import { describeDocker } from "./docker/docker-words.ts";
import { describeKubernetes } from "./kubernetes/kubernetes-words.ts";
import type { PlatformWords } from "./stack-platform.ts";
import type { StackTarget } from "./stack-target.ts";

/** Describes a stack on its platform in words for messages. Pure. */
export function describePlatform({ prefix, target }: Readonly<{ prefix: string; target: StackTarget }>): PlatformWords {
  return target.kind === "docker" ? describeDocker({ prefix, target }) : describeKubernetes(target);
}
