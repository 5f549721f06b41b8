"""Prefect's parts that are not documented: each test fails if Prefect changes one."""

from dataclasses import replace
from threading import Thread

import prefect.context
import pytest
from prefect.client.orchestration import get_client
from prefect.server.api import server
from prefect.server.services import db_vacuum, perpetual_services
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, get_current_settings, temporary_settings

from flows.prefect_internals import EmbeddedServer, run_when_embedded, set_for_process


class Launched(Exception):
    """What the server of this file does instead of starting a process."""


class Server(EmbeddedServer):
    def launch(self):
        raise Launched


def test_a_client_launches_the_first_server_object_of_its_process(monkeypatch):
    monkeypatch.setattr(server.SubprocessASGIServer, "_instances", {})
    first = Server()
    assert server.SubprocessASGIServer() is first
    with temporary_settings({PREFECT_API_URL: None}), pytest.raises(Launched):
        get_client(sync_client=True)


def test_all_threads_of_the_process_use_its_settings(monkeypatch):
    monkeypatch.setattr(prefect.context, "GLOBAL_SETTINGS_CONTEXT", prefect.context.get_settings_context())
    set_for_process(get_current_settings().copy_with_update({PREFECT_API_AUTH_STRING: "a:password"}))
    read = []
    thread = Thread(target=lambda: read.append(PREFECT_API_AUTH_STRING.value()))
    thread.start()
    thread.join()
    assert read == ["a:password"]


def test_an_embedded_server_calls_a_service_that_prefect_keeps_for_others(monkeypatch):
    services = list(map(replace, perpetual_services.get_perpetual_services()))
    monkeypatch.setattr(perpetual_services, "_PERPETUAL_SERVICES", services)
    chosen = (db_vacuum.schedule_vacuum_tasks, db_vacuum.schedule_orphan_vacuum_tasks)

    def embedded():
        return {service.function for service in perpetual_services.get_perpetual_services(ephemeral=True)}

    before = embedded()
    assert not before & {*chosen}
    run_when_embedded(*chosen)
    assert embedded() == before | {*chosen}
