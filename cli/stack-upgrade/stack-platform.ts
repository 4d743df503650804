import type { StepOutcome } from "./next-stage.ts";
import type { PulumiCli } from "./pulumi/pulumi-cli.ts";
import type { AmendRecord } from "./run-stack-upgrade.ts";
import type { StackPlace } from "./stack-place.ts";
import type { StackRecord, UpgradeSide } from "./stack-record.ts";

/** What a stack runs on refused, or could not be reached. */
export class PlatformError extends Error {
  override readonly name: string = "PlatformError";
  readonly code: string = "platform_error";
  /** Whether it may go otherwise later, as where nobody answers. */
  readonly mayPass: boolean;

  constructor(message: string, mayPass: boolean, options?: ErrorOptions) {
    super(message, options);
    this.mayPass = mayPass;
  }
}

/** What was found of a stack where it runs; `problems` keep it from an upgrade. */
export type PlatformLook = Readonly<{
  problems: readonly string[];
  warnings: readonly string[];
  /** The image of Gatehouse that works on the data. */
  toolImage: string | undefined;
  /** node.conf in base64; absent where it could not be read. */
  conf: string | undefined;
  /** How the data are copied, as in "1.00 GiB are cloned". */
  copyWords: string;
  /** Whether the copy takes no extra room. */
  clones: boolean;
}>;

/** Nothing else depends on it: what could not be removed is reported. */
export type Removed = Readonly<{ kind: "done"; note?: string }>;

/** How an upgrade's steps are described to a person before they agree. */
export type PlatformPlan = Readonly<{
  stop: string;
  copy: (copyWords: string) => string;
  update: string;
  clean: string;
  back: string;
}>;

/** The words for what an upgrade finds and leaves where a stack runs. Pure. */
export type PlatformWords = Readonly<{
  /** What the node is called there. */
  node: string;
  /** What holds its data. */
  volume: string;
  plan: PlatformPlan;
  /** Identifies the image that runs, for a node that reports no version. */
  imageProof: string;
  /** The command that has the sidecar go on after a hold. */
  resume: string;
}>;

/**
 * What an upgrade does where a stack runs. Each may be done again after it was done, or half done. Throws {@link PlatformError}; one that may pass has
 * changed nothing that another try would not.
 */
export type StackPlatform = Readonly<{
  /** Changes nothing that stays. */
  look: (place: StackPlace, to: UpgradeSide) => Promise<PlatformLook>;
  /** Stops sidecar and node within the node's grace, to copy its data. */
  stop: (record: StackRecord, amend: AmendRecord) => Promise<StepOutcome>;
  /** Copies the data and node.conf of a node that stood still since it was stopped, over all runs of the command. */
  copy: (record: StackRecord, amend: AmendRecord) => Promise<StepOutcome>;
  /** Stops whichever version runs, to put the old data back. */
  stopToGoBack: (record: StackRecord, amend: AmendRecord) => Promise<StepOutcome>;
  putBack: (record: StackRecord, amend: AmendRecord) => Promise<StepOutcome>;
  /** Starts what stands still, as Pulumi has deployed it. */
  start: (record: StackRecord) => Promise<StepOutcome>;
  /** Removes the copy; what a failed version made of the data stays. */
  removeCopy: (record: StackRecord) => Promise<Removed>;
  /** Whether the node is one of this image, whatever Pulumi believes. */
  runsImage: (place: Pick<StackRecord, "prefix" | "target">, image: string) => Promise<boolean>;
  /** Removes what an update that was killed has left in the way of the next one, by what that one said; returns how much. */
  removeStrays: (record: StackRecord, said: string, dependencies: StrayDependencies) => Promise<number>;
  /** URNs of what an update that was killed may have changed without noting it. */
  listForgotten: (record: StackRecord, dependencies: Pick<StrayDependencies, "pulumi">) => Promise<readonly string[]>;
  /** What is left to be done about what Pulumi or the node's volume still holds at the end. */
  describeLeftovers: (
    record: StackRecord,
    dependencies: Pick<StrayDependencies, "pulumi">,
  ) => Promise<readonly string[]>;
}>;

export type StrayDependencies = Readonly<{ pulumi: Pick<PulumiCli, "readState">; say: (line: string) => void }>;
