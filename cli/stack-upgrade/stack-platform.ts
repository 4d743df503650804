import type { StageOutcome } from "#sidecar/upgrade/next-stage.ts";
import type { PulumiCli } from "./pulumi/pulumi-cli.ts";
import type { NodeAdapter } from "./stopped-node.ts";
import type { DeployedStack } from "./deployed-stack.ts";
import type { StackRecord, UpgradeSide } from "./stack-record.ts";

/** The engine or cluster of a stack refused, or could not be reached. */
export class PlatformError extends Error {
  override readonly name: string = "PlatformError";
  readonly code: string = "platform_error";
  /** Whether a retry may succeed, as after a missing answer. */
  readonly mayPass: boolean;

  constructor(message: string, mayPass: boolean, options?: ErrorOptions) {
    super(message, options);
    this.mayPass = mayPass;
  }
}

/** State of a stack on its engine or cluster; `problems` keep it from an upgrade. */
export type PlatformCheck = Readonly<{
  problems: readonly string[];
  warnings: readonly string[];
  /** Image of Gatehouse that works on the data. */
  toolImage: string | undefined;
  /** node.conf in base64; undefined if it could not be read. */
  conf: string | undefined;
  /** Size and manner of the copy, as in "1.00 GiB are cloned". */
  copyWords: string;
  /** Whether the copy takes no extra room. */
  clones: boolean;
}>;

/** Outcome of a removal, which no later step depends on: the note reports a failure. */
export type Removed = Readonly<{ kind: "done"; note?: string }>;

/** Sentences about an upgrade's steps, for a person to confirm. */
export type PlatformPlan = Readonly<{
  stop: string;
  copy: (copyWords: string) => string;
  update: string;
  clean: string;
  back: string;
}>;

/** Words for the parts of a stack on its platform, in messages. */
export type PlatformDescription = Readonly<{
  /** Name of the node, e.g. of its container. */
  node: string;
  /** Name of the volume or claim that holds its data. */
  volume: string;
  plan: PlatformPlan;
  /** Evidence of the running image, for a node that reports no version. */
  imageProof: string;
  /** Command that lifts the sidecar's hold. */
  resume: string;
}>;

/**
 * Actions of an upgrade on a stack's engine or cluster. Each can be repeated after it was done or half done. Throws {@link PlatformError};
 * if that may pass, another try is safe.
 */
export type StackPlatform = NodeAdapter &
  Readonly<{
    /** Leaves nothing changed. */
    look: (place: DeployedStack, to: UpgradeSide) => Promise<PlatformCheck>;
    /** Starts node and sidecar, if they are stopped, as Pulumi has deployed them. */
    start: (record: StackRecord) => Promise<StageOutcome>;
    /** Removes the copy; the data of a failed version stay. */
    removeCopy: (record: StackRecord) => Promise<Removed>;
    /** Whether the node has this image, whatever Pulumi's state says. */
    runsImage: (place: Pick<StackRecord, "prefix" | "target">, image: string) => Promise<boolean>;
    /** Removes leftovers of a killed update that are in the way of the next one, judging by its error `said`; returns their number. */
    removeStrays: (record: StackRecord, said: string, dependencies: StrayDependencies) => Promise<number>;
    /** Lists URNs of resources that a killed update may have changed without recording it. */
    listForgotten: (record: StackRecord, dependencies: Pick<StrayDependencies, "pulumi">) => Promise<readonly string[]>;
    /** Says what to do about leftovers of the upgrade in Pulumi's state and on the node's volume. */
    describeLeftovers: (
      record: StackRecord,
      dependencies: Pick<StrayDependencies, "pulumi">,
    ) => Promise<readonly string[]>;
  }>;

export type StrayDependencies = Readonly<{ pulumi: Pick<PulumiCli, "readState">; say: (line: string) => void }>;
