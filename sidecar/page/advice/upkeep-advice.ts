import { stateStoreFailureReasons, unusableConfigReasons } from "#status/condition-reasons.ts";
import { step, type AdviceTable, type Step } from "./deployment.ts";

/** Reasons for which node.conf can't be used and the sidecar leaves the file at its path to the operator. */
const unreplaceableReasons: ReadonlySet<string> = new Set(["Unreadable", "NotAFile", "TooLarge", "Unresponsive"]);

export const upkeepAdvice: AdviceTable = {
  NotPaused: ({ reason }, { showLog, resume, adopt }) =>
    reason === "WaitingForApproval"
      ? [
          step("Check under Plan what Gatehouse would change."),
          step("Approve it for this node. The command shows the plan once more and asks for confirmation.", adopt),
        ]
      : [
          step(
            "To see why the restart failed, look under 'Changes by Gatehouse' below and at the end of the node's log.",
            showLog,
          ),
          step("Once the cause is fixed, resume Gatehouse.", resume),
        ],
  UpgradeVerified: ({ reason }, { showLog, resume }) => {
    if (reason === "Upgrading") return [];
    return [
      step("Check above which step failed and where the copies are."),
      step("Check the end of the node's log.", showLog),
      reason === "Blocked"
        ? step("Fix the problem. The upgrade then continues automatically.")
        : step("Fix the problem, then resume Gatehouse.", resume),
    ];
  },
  DataIntact: ({ reason }, { showLog }) => {
    if (reason === "NeverHealthy") return [];
    return [
      step("Check the symptoms above, and rule out the other causes."),
      step("Check the end of the node's log.", showLog),
      step("Check the disk (smartctl, dmesg), and replace the data with a snapshot (see the runbook)."),
    ];
  },
  ConfigReconciled: ({ reason }, { lint, resume, start }) => {
    if (unusableConfigReasons.some((unusable) => unusable === reason)) return listUnusableSteps(reason, lint);
    if (reason === "StartRewrites") {
      return [
        step("Set the values above in the template from which the node's start script renders node.conf."),
        step("Then restart the node.", start),
      ];
    }
    if (reason === "Contested" || reason === "Locked") {
      return [
        step("Find the other writer: a second sidecar, a configuration management tool, or a person."),
        step("Stop it, or change the setting here if the other writer's value is correct."),
        step("Then resume Gatehouse.", resume),
      ];
    }
    if (reason === "PushAddressUnknown") return [step("Set one of these settings, then restart the sidecar.")];
    return [
      step("Check what is wrong with node.conf.", lint),
      step("Fix the problem above. Gatehouse retries automatically."),
    ];
  },
  VersionConsistent: () => [step("Set node.version to the running version, or finish the upgrade.")],
  VersionSupported: () => [
    step("Download the release above, and unpack it into its own directory on the node's machine."),
    step("Upgrade the node: gatehouse upgrade <directory>. In a container, change nodeImage and run pulumi up."),
  ],
  Pruning: ({ reason }, { showLog, showDisk }) => {
    if (reason === "PruningStalled") {
      return [
        step("Check whether the node logs errors about pruning.", showLog),
        step("Check how long the disk will last.", showDisk),
        step(
          "If the log shows no cause, restart the node once at a quiet time, and check whether the backlog shrinks.",
        ),
      ];
    }
    if (reason === "CannotDisable") return [step("Auto-pruning can't be disabled again. Set prune.enabled to true.")];
    const fix = step("Fix the problem above. Gatehouse then enables pruning automatically.");
    return reason === "Disabled" || reason === "EnableFailed"
      ? [fix]
      : [step("Run the node_cli command above manually. Its path is the setting nodeCli.command."), fix];
  },
  Reconciling: ({ reason }, { status }) =>
    stateStoreFailureReasons.some((unstored) => unstored === reason)
      ? [step("Make the state directory writable, and free space on its disk. The state in memory is then saved.")]
      : [
          step("Fix the problem above; the reconcile is retried automatically."),
          step("If that does not help, restart the sidecar (the node keeps running), then check again.", status),
        ],
  NoRestartPending: ({ reason }, { start, showLog }) => {
    if (reason === "NoDriver") return [step("Restart the node manually, or set restart.driver.", start)];
    if (reason === "ProgramMissing")
      return [step("Install the binary above where the sidecar can find it; it checks again automatically.")];
    if (reason === "NodeStopped") {
      return [
        step("Find out who stopped it, or the reason for its exit at the end of its log.", showLog),
        step("Start it.", start),
      ];
    }
    if (reason === "BudgetExhausted") return [step("Check below why the node was restarted, and fix that first.")];
    if (reason === "EditNotChecked")
      return [step("Fix the file system above (stat -f, dmesg, mount). The edit is checked after that.")];
    if (reason === "EditRejected" || reason === "ConfigUnusable") return [step("Correct node.conf as stated above.")];
    return [];
  },
  RollbackReady: (_, { start }) => [
    step("Restart the node manually with a working node.conf; it is saved as soon as the node responds.", start),
  ],
};

function listUnusableSteps(reason: string, lint: string | undefined): readonly Step[] {
  return [
    step(
      reason === "FileMissing"
        ? "Find out who removed node.conf, and create it again."
        : "Check what is wrong with node.conf.",
      lint,
    ),
    step(
      unreplaceableReasons.has(reason)
        ? "Fix the problem above. Gatehouse does not replace this file, because it can't back it up."
        : "Fix it. Otherwise Gatehouse restores the last good version at the time above, if one is shown.",
    ),
  ];
}
