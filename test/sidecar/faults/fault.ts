import type { VerdictLevel } from "#status/verdict.ts";
import type { ConditionType } from "#status/condition.ts";
import type { FakeNode } from "#sidecar/testing/fake-node.ts";

/** The node and sidecar that a fault strikes. */
export type StruckNode = Readonly<{
  node: FakeNode;
  stateDirectory: string;
  /** Servers and mounts of the fault, for as long as the test lasts. */
  resources: AsyncDisposableStack;
}>;

/** Report that a fault has to lead to. In texts, `…` stands for anything. */
export type Shown = Readonly<{
  verdict: VerdictLevel;
  condition: readonly [ConditionType, string];
  readyz: 200 | 503;
  /** Beginning of the condition's message. */
  reads: string;
}>;

/** One fault, and the report that it has to lead to. */
export type Fault = Readonly<{
  /** Event in words, as a person would say it. */
  what: string;
  shown: Shown;
  /** Whether it needs the right to mount a file system. */
  mounts?: boolean;
  /** The sidecar's settings; a function where they are known only when the test runs. */
  settings?: (struck: StruckNode) => Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>;
  /** Runs before the node starts. */
  prepare?: (struck: StruckNode) => Promise<unknown>;
  /** Brings the fault about, once the sidecar has called the node right; without it, the fault is there from the start. */
  strike?: (struck: StruckNode, gatewayUrl: string) => Promise<unknown>;
}>;

/** A fault at which the sidecar does not start, and the one line that it ends with. */
export type Refusal = Readonly<{
  what: string;
  reads: string;
  settings: (struck: StruckNode) => Promise<Readonly<Record<string, string>>>;
}>;

/** Whether a text begins as it is to, where `…` stands for anything. */
export function beginsAs(pattern: string): RegExp {
  const parts = pattern.split("…").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(".*?")}`, "s");
}
