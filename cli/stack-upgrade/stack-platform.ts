import type { StageOutcome } from "#sidecar/upgrade/next-stage.ts";
import type { PulumiCli } from "./pulumi/pulumi-cli.ts";
import type { NodeAdapter } from "./stopped-node.ts";
import type { DeployedStack } from "./deployed-stack.ts";
import type { StackRecord, UpgradeSide } from "./stack-record.ts";

/** A stack's engine or cluster rejected the call, or could not be reached. */
export class PlatformError extends Error {
  override readonly name: string = "PlatformError";
  readonly code: string = "platform_error";
  /** Whether a retry may succeed, e.g. after a missing response. */
  readonly mayPass: boolean;

  constructor(message: string, mayPass: boolean, options?: ErrorOptions) {
    super(message, options);
    this.mayPass = mayPass;
  }
}

/** State of a stack on its engine or cluster; `problems` prevent an upgrade. */
export type PlatformCheck = Readonly<{
  problems: readonly string[];
  warnings: readonly string[];
  /** Gatehouse image used to work on the data. */
  toolImage: string | undefined;
  /** node.conf in base64; undefined if it could not be read. */
  conf: string | undefined;
  /** Size and method of the copy, e.g. "1.00 GiB are cloned". */
  copyWords: string;
  /** Whether the copy takes no extra space. */
  clones: boolean;
}>;

/** Outcome of a removal, which no later step depends on; the note reports a failure. */
export type Removed = Readonly<{ kind: "done"; note?: string }>;

/** Sentences about an upgrade's steps, for the operator to confirm. */
export type PlatformPlan = Readonly<{
  stop: string;
  copy: (copyWords: string) => string;
  update: string;
  clean: string;
  back: string;
}>;

/** Terms for the parts of a stack on its platform, for messages. */
export type PlatformDescription = Readonly<{
  /** Name of the node, e.g. its container's. */
  node: string;
  /** Name of the volume or claim that holds the node's data. */
  volume: string;
  plan: PlatformPlan;
  /** Evidence of the running image, for a node that reports no version. */
  imageProof: string;
  /** Command that lifts the sidecar's pause. */
  resume: string;
}>;

/**
 * Actions that an upgrade performs on a stack's engine or cluster. Each is idempotent, even if interrupted halfway. Each may throw {@link
 * PlatformError}; if the error may be temporary, a retry is safe.
 */
export type StackPlatform = NodeAdapter &
  Readonly<{
    /** Leaves no changes. */
    look: (place: DeployedStack, to: UpgradeSide) => Promise<PlatformCheck>;
    /** Starts node and sidecar, if stopped, as deployed by Pulumi. */
    start: (record: StackRecord) => Promise<StageOutcome>;
    /** Removes the copy, but not the data of a failed version. */
    removeCopy: (record: StackRecord) => Promise<Removed>;
    /** Returns whether the node has this image, regardless of Pulumi's state. */
    runsImage: (place: Pick<StackRecord, "prefix" | "target">, image: string) => Promise<boolean>;
    /** Removes leftovers of a killed update that block the next update, based on that update's error `said`; returns the number removed. */
    removeStrays: (record: StackRecord, said: string, dependencies: StrayDependencies) => Promise<number>;
    /** Lists URNs of resources that a killed update may have changed without recording it. */
    listForgotten: (record: StackRecord, dependencies: Pick<StrayDependencies, "pulumi">) => Promise<readonly string[]>;
    /** Explains what to do about the upgrade's leftovers in Pulumi's state and on the node's volume. */
    describeLeftovers: (
      record: StackRecord,
      dependencies: Pick<StrayDependencies, "pulumi">,
    ) => Promise<readonly string[]>;
  }>;

export type StrayDependencies = Readonly<{ pulumi: Pick<PulumiCli, "readState">; say: (line: string) => void }>;
