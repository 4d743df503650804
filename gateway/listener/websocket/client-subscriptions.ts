import { randomBytes } from "node:crypto";
import type { SubscriptionResponse, Subscriptions } from "../../calls/call-context.ts";
import { splitElements } from "../../json-rpc/read-object.ts";
import { invalidParams, rpcErrors, tooManySubscriptions, unknownSubscription, type RpcError } from "../../errors.ts";
import { readFields, parseFlatValue, maxFields, parseParams } from "../../limits/checked-params.ts";
import { asBinary } from "../../json-rpc/read-answer.ts";
import { readSelection } from "../../limits/block-filters.ts";
import { buildNotificationPrefix, type Notification } from "../../notifications/notification.ts";
import { findTier } from "../../policy.ts";
import type { ListenerContext } from "../listener-context.ts";
import type { ClientSender, ConnectedClient } from "./client-sender.ts";

/** Max notifications that may wait for the response to their subscription; beyond that, the client's connection is closed. */
const queuedNotificationsMax = 1_000;
/** Close code of a server that restarts (IANA WebSocket close code registry). */
const serviceRestart = 1012;

/** One client's subscriptions: `newHeads` and `logs` (specification, Limits), with ids of 16 random bytes. Disposal ends all of them. */
export class ClientSubscriptions implements Disposable {
  readonly #client: Pick<ConnectedClient, "caller" | "socket">;
  readonly #sender: Pick<ClientSender, "sendNotification">;
  readonly #context: ListenerContext;
  readonly #ends = new Map<string, () => void>();
  #pending = 0;
  #isClosed = false;

  constructor(
    client: Pick<ConnectedClient, "caller" | "socket">,
    sender: Pick<ClientSender, "sendNotification">,
    context: ListenerContext,
  ) {
    this.#client = client;
    this.#sender = sender;
    this.#context = context;
  }

  get size(): number {
    return this.#ends.size;
  }

  /** Returns the subscriptions for one message; `afterReply` runs a callback once the response to that message has been sent. */
  forMessage(afterReply: (run: () => void) => void): Subscriptions {
    return {
      respond: async (method, params) =>
        method === "eth_subscribe" ? this.#subscribe(params, afterReply) : this.#unsubscribe(params),
    };
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const end of this.#ends.values()) end();
    this.#ends.clear();
  }

  async #subscribe(params: string, afterReply: (run: () => void) => void): Promise<SubscriptionResponse> {
    const canonical = formatCanonicalParams(params);
    if (canonical.kind !== "params") return canonical;
    const { caller } = this.#client;
    const { hub, policy } = this.#context;
    const { subscriptions: max } = findTier(policy(), caller);
    if (this.#ends.size + this.#pending >= max) return this.#limit(tooManySubscriptions(max));
    const id = `"0x${randomBytes(16).toString("hex")}"`;
    const start = buildNotificationPrefix(id);
    // The client learns the id from the response, so notifications wait until it is sent.
    let held: Notification[] | undefined = [];
    const lost = () => this.#close();
    const notify = (notification: Notification) => {
      if (held === undefined) this.#sender.sendNotification(start, notification);
      else if (held.length < queuedNotificationsMax) held.push(notification);
      else lost();
    };
    this.#pending += 1;
    const outcome = await hub.subscribe(canonical.json, { caller: caller.key, notify, lost });
    this.#pending -= 1;
    if (outcome.kind === "rejected") return this.#limit(outcome.error);
    if (outcome.kind === "error") return outcome;
    if (this.#isClosed) outcome.unsubscribe();
    else this.#ends.set(id, outcome.unsubscribe);
    afterReply(() => {
      const missedTexts = held ?? [];
      held = undefined;
      for (const notification of missedTexts) this.#sender.sendNotification(start, notification);
    });
    return { kind: "result", json: id };
  }

  #unsubscribe(params: string): SubscriptionResponse {
    const [given] = parseParams(params);
    if (typeof given !== "string") return buildErrorResponse(invalidParams("expected a subscription id"));
    const id = JSON.stringify(given.toLowerCase());
    const end = this.#ends.get(id);
    if (end === undefined) return buildErrorResponse(rpcErrors.subscriptionNotFound);
    this.#ends.delete(id);
    end();
    return { kind: "result", json: "true" };
  }

  #limit(error: RpcError): SubscriptionResponse {
    this.#context.limited("subscriptions", this.#client.caller.tierName);
    return buildErrorResponse(error);
  }

  /** Closes the client because it missed notifications. */
  #close(): void {
    this.#context.dropped("lost");
    this.#client.socket.close(serviceRestart, "the node's connection was lost; subscribe again");
  }
}

function buildErrorResponse(error: RpcError): SubscriptionResponse {
  return { kind: "rejected", error };
}

/** Formats eth_subscribe parameters in a canonical form, shared by identical subscriptions. */
function formatCanonicalParams(params: string): SubscriptionResponse | Readonly<{ kind: "params"; json: string }> {
  const [name, filter = "null", ...rest] = splitElements(params);
  const type = parseFlatValue(name);
  if (typeof type !== "string")
    return buildErrorResponse(invalidParams("expected subscription name as first argument"));
  if (type !== "newHeads" && type !== "logs") return buildErrorResponse(unknownSubscription(asBinary(type)));
  if (rest.length > 0) return buildErrorResponse(invalidParams("too many arguments, want at most 2"));
  if (type === "newHeads") return { kind: "params", json: '["newHeads"]' };
  const fields = readFields(filter === "null" ? "{}" : filter);
  if (fields === undefined)
    return buildErrorResponse(invalidParams(`expected a log filter object, of at most ${maxFields} fields`));
  const selection = readSelection(fields);
  if (typeof selection === "string") return buildErrorResponse(invalidParams(selection));
  return { kind: "params", json: asBinary(JSON.stringify(["logs", selection]).toLowerCase()) };
}
