/** Failures of the node's tool, as reasons; `NodeCliWorking` and `AutoPruneOn` share them. */
const nodeCliFailures = ["NotFound", "NotExecutable", "TimedOut", "TooMuchOutput", "Garbage", "Failed"] as const;

/**
 * Every condition, in the order in which it is shown, with the reasons that each status can have. A part that says another reason, or one
 * under another status, does not compile; the table in the room's README is checked against this one.
 */
export const conditionReasons = {
  RpcAnswering: {
    True: ["Answering"],
    False: ["Refused", "Closed", "Unreachable", "NameUnresolved", "TimedOut", "NotJsonRpc", "RpcError", "TooLarge"],
    Unknown: ["LookFailed"],
  },
  ChainIdExpected: { True: ["Expected"], False: ["AnotherChain"], Unknown: ["LookFailed"] },
  HeightAdvancing: {
    True: ["Advancing", "Idle"],
    False: ["Stalled", "NoNewBlock", "WentBackwards"],
    Unknown: ["Quiet", "NoAnswer", "LookFailed"],
  },
  HeightCurrent: { True: ["Current"], False: ["Behind"], Unknown: ["NoReference", "NoHeight", "LookFailed"] },
  WebSocketAnswering: {
    True: ["Answering"],
    False: ["Refused", "NameUnresolved", "TimedOut", "Closed", "NotJsonRpc"],
    Unknown: ["LookFailed"],
  },
  GatewayResponsive: { True: ["Responsive"], False: ["EventLoopDelayed"], Unknown: [] },
  GatewayServing: { True: ["Serving"], False: ["NoHead"], Unknown: ["HeadAwaited", "NodeUnfit", "LookFailed"] },
  CallsAnswered: {
    True: ["Answered"],
    False: ["NodeFails", "Shed"],
    Unknown: ["TooFewCalls", "NotServing", "LookFailed"],
  },
  FilesInForce: { True: ["InForce"], False: ["Refused"], Unknown: ["LookFailed"] },
  StateKept: { True: ["Kept"], False: ["DiskFull", "ReadOnly", "InUse", "NotWritten", "Hanging"], Unknown: [] },
  ConfigValid: {
    True: ["Valid"],
    False: [
      "Vanished",
      "Unreadable",
      "NotAFile",
      "Empty",
      "TooLarge",
      "NotText",
      "TooDeep",
      "HalfWritten",
      "NotAnObject",
      "NoChain",
      "Hanging",
    ],
    Unknown: [],
  },
  UpkeepCurrent: { True: ["Current"], False: ["Failing", "Hanging"], Unknown: ["NotPassed"] },
  ConfigCurrent: {
    True: ["AsDesired"],
    False: [
      "Drift",
      "VersionUnknown",
      "PushAddressUnknown",
      "EditRefused",
      "Locked",
      "CannotLock",
      "NotKept",
      "NotWritten",
    ],
    Unknown: [],
  },
  SoleWriter: { True: ["OnlyWriter"], False: ["Contested", "StartRewrites", "Locked"], Unknown: [] },
  VersionAgreed: { True: ["Agreed"], False: ["Disagreement", "VersionUnknown"], Unknown: [] },
  VersionSufficient: { True: ["Sufficient"], False: ["TooOldSoon", "TooOld"], Unknown: ["NotCompared", "LookFailed"] },
  NodeCliWorking: { True: ["Working"], False: nodeCliFailures, Unknown: ["NotRun", "LookFailed"] },
  AutoPruneOn: {
    True: ["On", "OffAsDesired"],
    False: ["Off", "NotSwitchedOn", "PruneStaysOn", ...nodeCliFailures],
    Unknown: ["NoPruneInfo"],
  },
  PruneAdvancing: {
    True: ["Advancing", "NothingToPrune"],
    False: ["PruningStalled"],
    Unknown: ["Off", "NotPrinted", "NoPruneInfo"],
  },
  MetricsArriving: {
    True: ["Fresh"],
    False: ["Missing", "Stale", "PushesRejected", "JobShared", "PushgatewayUnreachable"],
    Unknown: ["NotPushing", "IdentityUnknown", "LookFailed"],
  },
  DiskSpaceLeft: { True: ["Enough"], False: ["Low", "FullSoon"], Unknown: ["NotReadable", "LookFailed"] },
  FileDescriptorsLeft: { True: ["Enough"], False: ["Short", "ConnectionsFull"], Unknown: ["NotCounted", "LookFailed"] },
  VolumeLargeEnough: {
    True: ["Enough", "Growing", "Paused"],
    False: ["AtCeiling", "NotGrown"],
    Unknown: ["NotReadable", "LookFailed"],
  },
  RestartSettled: {
    True: ["Idle"],
    False: [
      "Running",
      "Settling",
      "WaitingForWindow",
      "BudgetExhausted",
      "StateNotKept",
      "Contested",
      "StartRewrites",
      "Held",
      "NoDriver",
      "ProgramMissing",
      "ConfigUnusable",
      "EditRefused",
      "EditNotJudged",
      "Observing",
      "WaitingForAdopt",
    ],
    Unknown: [],
  },
  RollBackReady: {
    True: ["Kept"],
    False: ["NotKept", "NothingKept"],
    Unknown: ["Assumed", "NotYet", "NoRestarts"],
  },
  UpgradeProved: {
    True: ["Proved", "SettledByHand", "Withdrawn"],
    False: ["RolledBack", "Stranded", "Blocked", "NotBegun"],
    Unknown: ["Upgrading", "Preparing"],
  },
  DataSound: { True: ["Sound"], False: ["Suspect"], Unknown: ["InDoubt", "NotSeenWell", "NotLooked"] },
  Unheld: { True: ["NoHold"], False: ["Held"], Unknown: [] },
  Adopted: { True: ["Adopted", "Observing"], False: ["WaitingForAdopt"], Unknown: [] },
} as const;
