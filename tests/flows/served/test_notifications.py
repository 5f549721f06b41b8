"""Addresses of notifications; tests/flows/test_operations.py has real failures and their webhook."""

import asyncio

import pytest
from prefect.blocks.core import Block
from prefect.client.orchestration import get_client

from flows.automations import block_of, notifications, set_up
from pipeline.errors import BadConfig
from tests.flows.receivers import mailbox, webhook

pytestmark = pytest.mark.usefixtures("prefect")


def notify(block, subject, body):
    """What Prefect's server does with the block of an automation."""

    async def send():
        async with get_client() as client:
            document = await client.read_block_document(block, include_secrets=True)
        made = Block._from_block_document(document)
        if hasattr(made, "timeout"):
            made.timeout = 240.0  # this process, which also answers, may be stopped for longer than the ten seconds of Prefect
        await made.anotify(body=body, subject=subject)

    asyncio.run(send())


def test_an_smtp_address_sends_an_email(tmp_path):
    with mailbox() as (port, received):
        (tmp_path / "notify").write_text(
            f"mailto://127.0.0.1:{port}?to=ops@example.org&from=graphmill@example.org&mode=insecure\n"
        )
        notify(block_of(tmp_path / "notify"), "graphmill: road-network/nightly: Failed", "roads.gr: line 2")
    (message,) = received
    assert "To: " in message and "ops@example.org" in message
    assert "Subject: graphmill: road-network/nightly: Failed" in message and "roads.gr: line 2" in message


def test_the_address_is_a_secret(tmp_path):
    with webhook() as (address, received):
        (tmp_path / "notify").write_text(f"{address}?token=swordfish")
        block = block_of(tmp_path / "notify")
        notify(block, "subject", "body")
    assert received == [{"subject": "subject", "body": "body", "text": "subject\nbody"}]
    with get_client(sync_client=True) as client:
        assert "swordfish" not in client.request("GET", f"/block_documents/{block}").text
        for _ in range(2):  # deploying again replaces them
            for automation in notifications("graphmill", block):
                set_up(client, automation)
        assert sorted(found.name for found in client.read_automations()) == ["graphmill: failures", "graphmill: recoveries"]


@pytest.mark.parametrize("text", ["", "ops@example.org", "https://a https://b", "gopher://nowhere"])
def test_what_is_not_an_address_is_refused(text, tmp_path):
    (tmp_path / "notify").write_text(text)
    with pytest.raises(BadConfig, match="notify: "):
        block_of(tmp_path / "notify")
