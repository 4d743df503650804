import type { NodeAnswer } from "../json-rpc/read-answer.ts";
import type { Notification } from "./notification.ts";
import type { SentLogs } from "./sent-logs.ts";

/** Who gets the notifications of a subscription. */
export type Subscriber = Readonly<{
  /** Key of the caller; undefined: the gateway itself. */
  caller: string | undefined;
  notify: (news: Notification) => void;
  /** The node's connection is lost: notifications may have been missed. */
  lost: () => void;
}>;

/** One subscription at the node and those that share it. */
export type SharedSubscription = {
  /** JSON text of eth_subscribe's parameters in canonical form. */
  readonly params: string;
  /** Key of the caller who began it and whose place at the node it takes; undefined: the gateway itself. */
  readonly beganBy: string | undefined;
  readonly subscribers: Set<Subscriber>;
  /** What was told of a `logs` subscription; undefined for `newHeads`. */
  readonly sent: SentLogs | undefined;
  /** Number of the newest block when it began; what is older was never its matter. */
  readonly since: bigint | undefined;
  /** The node's id of it, JSON text. */
  id: string | undefined;
  asked: Promise<NodeAnswer>;
  /** Notifications that wait until what was missed before them is told. */
  held: string[] | undefined;
};
