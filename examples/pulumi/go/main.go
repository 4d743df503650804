// A guarded node and a sold route, by the component of gatehouse-evm.
package main

import (
	"example.com/pulumi-gatehouse/sdk/go/gatehouse"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		settings := config.New(ctx, "")
		pay, err := gatehouse.NewStack(ctx, "pay", &gatehouse.StackArgs{
			Target:         pulumi.String("kubernetes"),
			RenderTo:       pulumi.String("rendered"),
			GatehouseImage: pulumi.String(settings.Require("gatehouseImage")),
			DevnetImage:    pulumi.String(settings.Require("devnetImage")),
			DevAccounts:    pulumi.Bool(true),
			TokenAddress:   pulumi.String("0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2"),
		})
		if err != nil {
			return err
		}
		ctx.Export("status", pay.Status)
		ctx.Export("urls", pay.Urls)
		ctx.Export("signer", pay.Signer)
		return nil
	})
}
