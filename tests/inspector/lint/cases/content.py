"""Talks about content blocks."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import Talk, breaks, keeps

PIXEL = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
SOUND = {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}
LINK = {"type": "resource_link", "uri": "file:///home/ada/a.py", "name": "a.py"}
FILE = {"type": "resource", "resource": {"uri": "file:///home/ada/a.py", "text": "a = 1"}}


def prompt(talk: Talk, *blocks: Any, agent: Any = None) -> None:
    """Agree upon the version, create a session and send a prompt of these blocks."""
    talk.initialize(None, agent)
    talk.new_session()
    call = talk.ask("session/prompt", sessionId="s1", prompt=list(blocks))
    if talk.version == 1:
        talk.finish(call)


def show(talk: Talk, block: Any) -> None:
    """Let the agent send a block, in a turn."""
    talk.open()
    call = talk.prompt()
    if talk.version == 2:
        talk.accept(call)
        talk.update("agent_message", messageId="m1", content=[block])
        talk.state("idle", stopReason="end_turn")
        return
    talk.update("agent_message_chunk", content=block)
    talk.finish(call)


@breaks("undeclared-image")
def an_image_goes_to_who_takes_none(talk: Talk) -> None:
    prompt(talk, PIXEL, agent={"promptCapabilities": {"image": False}})


@breaks("undeclared-image", 2)
def an_image_goes_to_who_claims_true(talk: Talk) -> None:
    prompt(talk, PIXEL, agent={"session": {"prompt": {}}})


@keeps("undeclared-image")
def an_image_goes_to_who_takes_images(talk: Talk) -> None:
    prompt(talk, PIXEL, agent={"promptCapabilities": {"image": True}})


@keeps("undeclared-image", 2)
def an_image_goes_to_who_takes_images_only(talk: Talk) -> None:
    prompt(talk, PIXEL, agent={"session": {"prompt": {"image": {}}}})


@breaks("undeclared-audio")
def audio_goes_to_who_takes_images(talk: Talk) -> None:
    prompt(talk, SOUND, agent={"promptCapabilities": {"image": True}})


@breaks("undeclared-audio", 2)
def audio_goes_to_who_takes_none(talk: Talk) -> None:
    prompt(talk, SOUND, agent={"session": {"prompt": {"audio": None}}})


@keeps("undeclared-audio")
def audio_goes_to_who_takes_audio(talk: Talk) -> None:
    prompt(talk, SOUND, agent={"promptCapabilities": {"audio": True}})


@keeps("undeclared-audio", 2)
def audio_goes_to_who_takes_it(talk: Talk) -> None:
    prompt(talk, SOUND)


@breaks("undeclared-embedded-resource")
def a_file_is_embedded_for_who_takes_none(talk: Talk) -> None:
    prompt(talk, FILE, agent={"promptCapabilities": {}})


@breaks("undeclared-embedded-resource", 2)
def a_file_is_embedded_without_a_claim(talk: Talk) -> None:
    prompt(talk, FILE, agent={"session": {}})


@keeps("undeclared-embedded-resource")
def a_file_is_embedded_for_who_takes_it(talk: Talk) -> None:
    prompt(talk, FILE, LINK)


@keeps("undeclared-embedded-resource", 2)
def a_file_is_embedded_where_claimed(talk: Talk) -> None:
    prompt(talk, FILE)


@breaks("incomplete-content-block")
def a_link_has_no_name(talk: Talk) -> None:
    prompt(talk, {"type": "resource_link", "uri": "file:///a"})


@breaks("incomplete-content-block")
def a_resource_has_neither_text_nor_blob(talk: Talk) -> None:
    prompt(talk, {"type": "resource", "resource": {"uri": "file:///a"}})


@breaks("incomplete-content-block")
def a_tool_shows_a_text_without_text(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.tool(content=[{"type": "content", "content": {"type": "text", "value": "x"}}])
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    talk.finish(call)


@breaks("incomplete-content-block", 2)
def a_message_has_an_image_without_type(talk: Talk) -> None:
    show(talk, {"type": "image", "data": "iVBORw0KGgo="})


@keeps("incomplete-content-block")
def every_type_has_what_it_needs(talk: Talk) -> None:
    prompt(talk, PIXEL, SOUND, LINK, FILE, {"type": "text", "text": ""})


@keeps("incomplete-content-block", 2)
def a_new_type_needs_nothing(talk: Talk) -> None:
    show(talk, {"type": "_chart"})


@breaks("invalid-base64")
def an_image_is_a_data_url(talk: Talk) -> None:
    show(talk, PIXEL | {"data": "data:image/png;base64,iVBORw0KGgo="})


@breaks("invalid-base64", 2)
def a_blob_is_url_safe_base64(talk: Talk) -> None:
    show(talk, {"type": "resource", "resource": {"uri": "file:///a", "blob": "_-8="}})


@breaks("invalid-base64")
def an_image_lacks_padding(talk: Talk) -> None:
    prompt(talk, PIXEL | {"data": "iVBORw0KGgo"})


@keeps("invalid-base64")
def an_image_is_empty(talk: Talk) -> None:
    show(talk, PIXEL | {"data": ""})


@keeps("invalid-base64", 2)
def a_blob_is_base64(talk: Talk) -> None:
    show(talk, {"type": "resource", "resource": {"uri": "file:///a", "blob": "/+8="}})


@breaks("wrong-mime-type")
def an_image_is_said_to_be_png(talk: Talk) -> None:
    show(talk, PIXEL | {"mimeType": "png"})


@breaks("wrong-mime-type", 2)
def audio_is_said_to_be_video(talk: Talk) -> None:
    show(talk, SOUND | {"mimeType": "video/mp4"})


@keeps("wrong-mime-type")
def a_type_has_a_parameter(talk: Talk) -> None:
    show(talk, LINK | {"mimeType": "text/x-python; charset=utf-8"})


@keeps("wrong-mime-type", 2)
def an_image_is_an_svg(talk: Talk) -> None:
    show(talk, PIXEL | {"mimeType": "image/svg+xml"})


@breaks("unknown-content-type")
def a_block_has_a_type_of_its_own(talk: Talk) -> None:
    show(talk, {"type": "_chart", "data": []})


@breaks("unknown-content-type")
def a_prompt_has_a_block_without_type(talk: Talk) -> None:
    prompt(talk, {"text": "Hello"})


@keeps("unknown-content-type")
def a_tool_shows_a_diff_beside_text(talk: Talk) -> None:
    talk.open()
    call = talk.prompt()
    talk.tool(
        content=[
            {"type": "diff", "path": "/home/ada/a.py", "newText": "a"},
            {"type": "content", "content": {"type": "text", "text": "Done"}},
        ]
    )
    talk.update("tool_call_update", toolCallId="t1", status="completed")
    talk.finish(call)


@breaks("unsafe-icon-source", 2)
def an_icon_is_a_file(talk: Talk) -> None:
    show(talk, LINK | {"icons": [{"src": "file:///home/ada/icon.png"}]})


@keeps("unsafe-icon-source", 2)
def an_icon_is_within(talk: Talk) -> None:
    show(talk, LINK | {"icons": [{"src": "data:image/png;base64,iVBORw0KGgo="}]})
