import { randomUUID } from "node:crypto";
import { runDocker } from "./docker.ts";

/** A container of a test's own, removed with its volumes when disposed of. */
export type TestContainer = AsyncDisposable &
  Readonly<{
    name: string;
    /** One field of `docker inspect`, as a Go template. */
    inspect: (template: string) => Promise<string>;
    /** Reads its process's output. */
    logs: () => Promise<string>;
  }>;

/** Image and command to run; `options` are those of `docker run`. */
export type ContainerOptions = Readonly<{ image: string; options?: readonly string[]; command: readonly string[] }>;

/** Creates a name that no other test run uses. */
export function createUniqueName(what: string): string {
  return `gatehouse-test-${what}-${randomUUID().slice(0, 8)}`;
}

/** Starts a container in the background. */
export async function startContainer({ image, options = [], command }: ContainerOptions): Promise<TestContainer> {
  const name = createUniqueName("container");
  await runDocker("run", "--detach", "--name", name, ...options, image, ...command);
  return {
    name,
    inspect: (template) => runDocker("inspect", "--format", template, name),
    logs: () => runDocker("logs", name),
    [Symbol.asyncDispose]: async () => void (await runDocker("rm", "--force", "--volumes", name)),
  };
}
