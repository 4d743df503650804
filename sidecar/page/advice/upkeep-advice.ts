import { step, type AdviceTable } from "./step.ts";

/** Reasons of `ConfigValid` for which the file at node.conf's path is left to the operator. */
const neverReplaced: ReadonlySet<string> = new Set(["Unreadable", "NotAFile", "TooLarge", "Unresponsive"]);

/** Advice on node.conf, the sidecar's reconciliation, and restarts. */
export const upkeepAdvice: AdviceTable = {
  NotPaused: (_, { showLog, resume }) => [
    step("Read why the restart failed: below, under Changes by Gatehouse, and at the end of the node's log.", showLog),
    step("When the cause is fixed, let Gatehouse act again.", resume),
  ],
  UpgradeVerified: ({ reason }, { showLog, resume, cancelUpgrade }) => {
    if (reason === "Upgrading" || reason === "Preparing") return [];
    if (reason === "NotStarted") {
      return [
        step("Fix what is named above, and request the upgrade again."),
        step("Or give it up by upgrade --cancel.", cancelUpgrade),
      ];
    }
    return [
      step("Read above which step failed and where the copies are."),
      step("Read the end of the node's log.", showLog),
      reason === "Blocked"
        ? step("Fix what is named. The upgrade then goes on by itself.")
        : step("Fix what is named, then let Gatehouse go on.", resume),
    ];
  },
  DataIntact: ({ reason }, { showLog, restoreData }) => {
    if (reason === "NeverHealthy") return [];
    if (reason === "NotInspected")
      return [step("Fix what is named above (stat -f, dmesg, mount). Gatehouse rechecks automatically.")];
    return [
      step("Read above what speaks against the data, and what is missing to rule out other causes."),
      step("Read the end of the node's log.", showLog),
      step("Look at the disk (smartctl, dmesg), and restore a snapshot.", restoreData),
    ];
  },
  Adopted: (_, { adopt }) => [
    step("Read under Plan what Gatehouse would change."),
    step("Let it act on this node. It shows the plan once more and asks.", adopt),
  ],
  ConfigValid: ({ reason }, { lint }) => [
    step(
      reason === "FileMissing"
        ? "Find out who removed node.conf, and write it again."
        : "Check what is wrong with node.conf.",
      lint,
    ),
    step(
      neverReplaced.has(reason)
        ? "Fix what is named above. Gatehouse does not replace it: no copy of it can be kept."
        : "Fix it. If nobody does, Gatehouse writes the last good one back at the time that is named above, if one is.",
    ),
  ],
  ConfigReconciled: (_, { lint }) => [
    step("Check what is wrong with node.conf.", lint),
    step("Fix what is named above. Gatehouse retries automatically."),
  ],
  SoleWriter: ({ reason }, { resume, start }) => {
    if (reason === "StartRewrites") {
      return [
        step("Set what is named above in the template that the node's start renders node.conf from."),
        step("Then restart the node.", start),
      ];
    }
    return [
      step("Find the other writer: a second sidecar, a configuration management run, a person."),
      step("Stop it, or change the setting here if it is right."),
      step("Then let Gatehouse resume.", resume),
    ];
  },
  VersionConsistent: () => [step("Set node.version to the version that runs, or finish the upgrade.")],
  VersionSupported: () => [
    step("Get the release that is named above, and unpack it into its own directory on the node's machine."),
    step("Upgrade the node: gatehouse upgrade <directory>. In a container, change nodeImage and run pulumi up."),
  ],
  NodeCliWorking: () => [
    step("Run node_cli by hand where it is named above. Its place is the setting nodeCli.command."),
  ],
  AutoPruneEnabled: ({ reason }) => [
    step(
      reason === "CannotDisable"
        ? "Auto-pruning can't be switched off again. Set prune.enabled to true."
        : "Fix what is named above. Gatehouse switches pruning on by itself as soon as it can.",
    ),
  ],
  StateWritable: () => [
    step("Make the state directory writable, and free space on its disk. What is in memory is then written."),
  ],
  Reconciling: (_, { status }) => [
    step("Fix what is named above; each pass is tried again by itself."),
    step("If nothing helps, restart the sidecar: the node keeps running. Then check again.", status),
  ],
  NoRestartPending: ({ reason }, { start }) => {
    if (reason === "NoDriver") return [step("Restart the node by hand, or set restart.driver.", start)];
    if (reason === "ProgramMissing")
      return [step("Put the program that is named above where the sidecar finds it: it looks again by itself.")];
    if (reason === "BudgetExhausted") return [step("Read below what the restarts were for, and fix that first.")];
    if (reason === "EditNotChecked")
      return [step("Fix the file system that is named above (stat -f, dmesg, mount). The edit is judged then.")];
    if (reason === "EditRejected" || reason === "ConfigUnusable") return [step("Correct node.conf as named above.")];
    return [];
  },
  RollbackReady: (_, { start }) => [
    step("Restart the node by hand with a node.conf that works; it is kept as soon as the node responds.", start),
  ],
};
