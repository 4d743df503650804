import { Config } from "@pulumi/pulumi";
import { Stack } from "gatehouse-evm/pulumi";

/** A guarded node and a paid route, created with the gatehouse-evm component. */
const config = new Config();

const pay = new Stack("pay", {
  target: "kubernetes",
  renderTo: "rendered",
  gatehouseImage: config.require("gatehouseImage"),
  devnetImage: config.require("devnetImage"),
  devAccounts: true,
  tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
});

export const { status, urls, signer } = pay;
