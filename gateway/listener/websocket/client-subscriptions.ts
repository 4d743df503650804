import { randomBytes } from "node:crypto";
import type { SubscriptionResponse, Subscriptions } from "../../calls/call-context.ts";
import { splitElements } from "../../json-rpc/read-object.ts";
import { invalidParams, rpcErrors, tooManySubscriptions, unknownSubscription } from "../../errors.ts";
import { readFields, parseFlatValue, maxFields, parseParams } from "../../limits/checked-params.ts";
import { asBinary } from "../../json-rpc/read-answer.ts";
import { readSelection } from "../../limits/block-filters.ts";
import { buildNotificationPrefix, type Notification } from "../../notifications/notification.ts";
import type { SubscriptionHub } from "../../notifications/subscription-hub.ts";

/** One client's subscriptions. Disposal ends all of them. */
export type ClientSubscriptions = Disposable &
  Readonly<{
    size: () => number;
    /** Returns the subscriptions for one message; `afterReply` runs a callback once the response to that message has been sent. */
    forMessage: (afterReply: (run: () => void) => void) => Subscriptions;
  }>;

/** Max notifications that may wait for the response to their subscription; beyond that, the client is closed. */
const queuedNotificationsMax = 1_000;

/** Dependencies and limits of a client's subscriptions. */
export type ClientSubscriptionDependencies = Readonly<{
  /** Key of the caller. */
  caller: string;
  hub: SubscriptionHub;
  /** Sends a notification, after the bytes that contain its subscription id. Called only after the response to the subscription has been sent. */
  send: (start: Buffer, notification: Notification) => void;
  lost: () => void;
  /** Returns the client's current max number of subscriptions. */
  limit: () => number;
  /** Called when the limit rejects a subscription. */
  limited: () => void;
}>;

/** Creates the subscriptions of a client: `newHeads` and `logs` (specification, Limits), with ids of 16 random bytes. */
export function createClientSubscriptions(dependencies: ClientSubscriptionDependencies): ClientSubscriptions {
  const ends = new Map<string, () => void>();
  const state = { pending: 0, isOver: false };

  const subscribe = async (params: string, afterReply: (run: () => void) => void): Promise<SubscriptionResponse> => {
    const canonical = formatCanonicalParams(params);
    if (canonical.kind !== "params") return canonical;
    if (ends.size + state.pending >= dependencies.limit()) {
      dependencies.limited();
      return buildErrorAnswer(tooManySubscriptions(dependencies.limit()));
    }
    const id = `"0x${randomBytes(16).toString("hex")}"`;
    const start = buildNotificationPrefix(id);
    let held: Notification[] | undefined = [];
    const notify = (notification: Notification) => {
      if (held === undefined) dependencies.send(start, notification);
      else if (held.length < queuedNotificationsMax) held.push(notification);
      else dependencies.lost();
    };
    state.pending += 1;
    const { caller, lost } = dependencies;
    const subscribed = await dependencies.hub.subscribe(canonical.json, { caller, notify, lost });
    state.pending -= 1;
    if (subscribed.kind === "refused") {
      dependencies.limited();
      return buildErrorAnswer(subscribed.error);
    }
    if (subscribed.kind === "error") return subscribed;
    if (state.isOver) subscribed.unsubscribe();
    else ends.set(id, subscribed.unsubscribe);
    afterReply(() => {
      const missed = held ?? [];
      held = undefined;
      for (const notification of missed) dependencies.send(start, notification);
    });
    return { kind: "result", json: id };
  };
  const unsubscribe = (params: string): SubscriptionResponse => {
    const [given] = parseParams(params);
    if (typeof given !== "string") return buildErrorAnswer(invalidParams("expected a subscription id"));
    const id = JSON.stringify(given.toLowerCase());
    const end = ends.get(id);
    if (end === undefined) return buildErrorAnswer(rpcErrors.subscriptionNotFound);
    ends.delete(id);
    end();
    return { kind: "result", json: "true" };
  };
  return {
    size: () => ends.size,
    forMessage: (afterReply) => ({
      answer: async (method, params) =>
        method === "eth_subscribe" ? subscribe(params, afterReply) : unsubscribe(params),
    }),
    [Symbol.dispose]: () => {
      state.isOver = true;
      for (const end of ends.values()) end();
      ends.clear();
    },
  };
}

function buildErrorAnswer(rpcError: ReturnType<typeof invalidParams>): SubscriptionResponse {
  return { kind: "refused", error: rpcError };
}

/** Formats eth_subscribe parameters in a canonical form, shared by equal subscriptions. */
function formatCanonicalParams(params: string): SubscriptionResponse | Readonly<{ kind: "params"; json: string }> {
  const [name, filter = "null", ...rest] = splitElements(params);
  const type = parseFlatValue(name);
  if (typeof type !== "string") return buildErrorAnswer(invalidParams("expected subscription name as first argument"));
  if (type !== "newHeads" && type !== "logs") return buildErrorAnswer(unknownSubscription(asBinary(type)));
  if (rest.length > 0) return buildErrorAnswer(invalidParams("too many arguments, want at most 2"));
  if (type === "newHeads") return { kind: "params", json: '["newHeads"]' };
  const fields = readFields(filter === "null" ? "{}" : filter);
  if (fields === undefined)
    return buildErrorAnswer(invalidParams(`expected a log filter object, of at most ${maxFields} fields`));
  const selection = readSelection(fields);
  if (typeof selection === "string") return buildErrorAnswer(invalidParams(selection));
  return { kind: "params", json: asBinary(JSON.stringify(["logs", selection]).toLowerCase()) };
}
