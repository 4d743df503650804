import type { runtime } from "@pulumi/pulumi";

/** A resource as the program registered it. */
export type Recorded = Readonly<{
  type: string;
  name: string;
  inputs: Readonly<Record<string, unknown>>;
  /** The explicit provider; empty where the default one would be used, which knows another engine or cluster. */
  provider: string;
}>;

/** Pulumi mocks that note down every resource in `recorded` and let each be made as it was asked for. */
export function recordingMocks(recorded: Recorded[]): runtime.Mocks {
  return {
    newResource: ({ type, name, inputs, provider }) => {
      recorded.push({ type, name, inputs: inputs as Recorded["inputs"], provider: provider ?? "" });
      const image = type === "docker:index/image:Image" ? { repoDigest: `sha256:${"0".repeat(64)}` } : {};
      const ended = type === "docker:index/container:Container" ? { exitCode: 0 } : {};
      return { id: `${name}-id`, state: { ...(inputs as object), ...image, ...ended } };
    },
    call: ({ inputs }) => inputs as Record<string, unknown>,
  };
}
