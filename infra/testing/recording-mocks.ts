import type { runtime } from "@pulumi/pulumi";

/** A resource as registered by the program. */
export type Recorded = Readonly<{
  type: string;
  name: string;
  inputs: Readonly<Record<string, unknown>>;
  /** The explicit provider; empty if the default provider would be used, which connects to another engine or cluster. */
  provider: string;
}>;

/** Mountpoint prefix for a volume that no engine has reported; it is followed by the volume's name. */
export const mountpointOf = "/mountpoint-of/";

/** Creates Pulumi mocks that record every resource in `recorded` and return it as requested. */
export function createRecordingMocks(recorded: Recorded[]): runtime.Mocks {
  return {
    newResource: ({ type, name, inputs, provider }) => {
      recorded.push({ type, name, inputs: inputs as Recorded["inputs"], provider: provider ?? "" });
      return {
        id: `${name}-id`,
        state: { ...(inputs as object), ...buildOutputs(type, inputs as Recorded["inputs"]) },
      };
    },
    call: ({ inputs }) => inputs as Record<string, unknown>,
  };
}

/** Value in every stack's stash from an update earlier than the recorded one. */
const keptByStash = "kept from the first update";

/** Builds the outputs that a provider would add to a resource's inputs. The id of an image with a reference is its name; a run succeeds. */
function buildOutputs(type: string, inputs: Recorded["inputs"]): Readonly<Record<string, unknown>> {
  if (type === "docker:index/image:Image") return { repoDigest: `sha256:${"0".repeat(64)}` };
  if (type === "docker:index/container:Container") return { exitCode: 0 };
  if (type === "pulumi:index:Stash") return { output: keptByStash };
  if (type === "docker:index/volume:Volume") return { mountpoint: `${mountpointOf}${String(inputs["name"])}` };
  return type === "docker:index/remoteImage:RemoteImage" ? { imageId: inputs["name"] } : {};
}
