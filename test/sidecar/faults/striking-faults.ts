import type { Fault } from "./fault.ts";
import { fileFaults } from "./file-faults.ts";
import { nodeFaults } from "./node-faults.ts";
import { processFaults, restartFaults } from "./restart-faults.ts";
import { upkeepFaults } from "./upkeep-faults.ts";

/** The faults that are injected into a sidecar. */
export const strikingFaults: readonly Fault[] = [
  ...nodeFaults,
  ...fileFaults,
  ...upkeepFaults,
  ...restartFaults,
  ...processFaults,
];
