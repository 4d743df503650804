import { randomUUID } from "node:crypto";
import { runDocker } from "./docker.ts";

export type TestContainer = AsyncDisposable &
  Readonly<{
    name: string;
    inspect: (template: string) => Promise<string>;
    logs: () => Promise<string>;
  }>;

export type ContainerOptions = Readonly<{ image: string; options?: readonly string[]; command: readonly string[] }>;

export function createUniqueName(what: string): string {
  return `gatehouse-test-${what}-${randomUUID().slice(0, 8)}`;
}

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
