import { z } from "zod";

/** Schemas of the values that a stack's keys have in common; `expected` is what a message about a wrong value says. */

/** Text of one character or more. */
export const text = (expected: string) => z.string().min(1).meta({ expected });

export const imageReference = text("an image reference such as registry.example/node:0.16.2@sha256:…");
