"""A guarded node and a sold route, by the component of gatehouse-evm."""

import pulumi
import pulumi_gatehouse as gatehouse

config = pulumi.Config()

pay = gatehouse.Stack(
    "pay",
    target="kubernetes",
    render_to="rendered",
    gatehouse_image=config.require("gatehouseImage"),
    devnet_image=config.require("devnetImage"),
    dev_accounts=True,
    token_address="0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2",
)

pulumi.export("status", pay.status)
pulumi.export("urls", pay.urls)
pulumi.export("signer", pay.signer)
